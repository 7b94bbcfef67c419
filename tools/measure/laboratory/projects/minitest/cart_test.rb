require "minitest/autorun"
require "minitest/reporters"

Minitest::Reporters.use! Minitest::Reporters::JUnitReporter.new("reports")

class CartTest < Minitest::Test
  def test_passes; end

  def test_always_fails
    assert_equal 1, 2
  end

  def test_is_skipped
    skip
  end
end

class TotalTest < Minitest::Test
  def test_same_name_in_two_classes; end
end

class OrderTest < Minitest::Test
  def test_same_name_in_two_classes
    assert_equal 1, 2
  end
end

class StorageTest < Minitest::Test
  def setup
    raise "no storage"
  end

  def test_errors_in_set_up; end
end

class OpenStorageTest < Minitest::Test
  def teardown
    raise "storage is still open"
  end

  def test_errors_in_tear_down; end
end
