#define BOOST_TEST_MODULE shop
#include <boost/test/included/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(cart)

BOOST_AUTO_TEST_CASE(passes) { BOOST_TEST(1 == 1); }

BOOST_AUTO_TEST_CASE(always_fails) {
  int one = 1;
  BOOST_TEST(one == 2);
}

struct Storage {
  Storage() { throw std::runtime_error("no storage"); }
};
BOOST_FIXTURE_TEST_CASE(errors_in_set_up, Storage) {}

struct OpenStorage {
  void teardown() { throw std::runtime_error("storage is still open"); }
};
BOOST_FIXTURE_TEST_CASE(errors_in_tear_down, OpenStorage) {}

BOOST_AUTO_TEST_CASE(is_skipped, *boost::unit_test::disabled()) {}

BOOST_AUTO_TEST_SUITE_END()
