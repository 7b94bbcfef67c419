#include <gtest/gtest.h>

#include <stdexcept>

static int attempts = 0;
static int calls = 0;

TEST(Cart, Passes) {}
TEST(Cart, AlwaysFails) { EXPECT_EQ(1, 2); }
TEST(Cart, FailsThenPasses) { EXPECT_GT(++attempts, 1); }
TEST(Cart, PassesThenFails) { EXPECT_EQ(++calls, 1); }
TEST(Cart, IsSkipped) { GTEST_SKIP(); }
TEST(Cart, DISABLED_IsDisabled) {}

class Storage : public testing::Test {
 protected:
  void SetUp() override { throw std::runtime_error("no storage"); }
};
TEST_F(Storage, ErrorsInSetUp) {}

class OpenStorage : public testing::Test {
 protected:
  void TearDown() override { throw std::runtime_error("storage is still open"); }
};
TEST_F(OpenStorage, ErrorsInTearDown) {}
