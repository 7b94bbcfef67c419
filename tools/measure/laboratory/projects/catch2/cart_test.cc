#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

TEST_CASE("passes") { REQUIRE(1 == 1); }
TEST_CASE("always fails") { REQUIRE(1 == 2); }
TEST_CASE("same name in two sections") {
  SECTION("one") { REQUIRE(1 == 1); }
  SECTION("two") { REQUIRE(1 == 2); }
}
TEST_CASE("same name", "[one]") {
  for (int i = 0; i < 2; i++) {
    DYNAMIC_SECTION("in a loop") { CHECK(i == 0); }
  }
}
TEST_CASE("is skipped", "[.]") {}
