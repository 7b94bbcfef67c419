#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

TEST_CASE("passes") { CHECK(1 == 1); }
TEST_CASE("always fails") { CHECK(1 == 2); }
TEST_CASE("same name") { CHECK(1 == 1); }
TEST_CASE("same name") { CHECK(1 == 2); }
TEST_CASE("same name, fails first") { CHECK(1 == 2); }
TEST_CASE("same name, fails first") { CHECK(1 == 1); }
TEST_CASE("is skipped" * doctest::skip()) {}
