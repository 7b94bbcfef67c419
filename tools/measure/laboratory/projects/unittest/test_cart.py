import unittest

import xmlrunner


class CartTest(unittest.TestCase):
    def test_passes(self):
        pass

    def test_always_fails(self):
        self.assertEqual(1, 2)

    @unittest.skip("not now")
    def test_is_skipped(self):
        pass


class StorageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise OSError("no storage")

    def test_errors_in_set_up(self):
        pass


class OpenStorageTest(unittest.TestCase):
    def tearDown(self):
        raise OSError("storage is still open")

    def test_errors_in_tear_down(self):
        pass


if __name__ == "__main__":
    unittest.main(testRunner=xmlrunner.XMLTestRunner(output="reports"))
