local attempts = 0

describe("cart", function()
  it("passes", function() end)
  it("always fails", function() assert.are.equal(1, 2) end)
  it("same name", function() end)
  it("same name", function() assert.are.equal(1, 2) end)
  it("same name, fails first", function() assert.are.equal(1, 2) end)
  it("same name, fails first", function() end)
  pending("is skipped")
end)

describe("storage", function()
  before_each(function() error("no storage") end)
  it("errors in set-up", function() end)
end)

describe("open storage", function()
  after_each(function() error("storage is still open") end)
  it("errors in tear-down", function() end)
end)
