require "rspec/retry"

attempts = 0
calls = 0

RSpec.configure { |config| config.default_retry_count = 2 }

RSpec.describe "Cart" do
  it("passes") {}
  it("always fails") { expect(1).to eq(2) }
  it("fails then passes") { expect(attempts += 1).to be > 1 }
  it("passes then fails") { expect(calls += 1).to eq(1) }
  it("same name") {}
  it("same name") { expect(1).to eq(2) }
  it("same name, fails first") { expect(1).to eq(2) }
  it("same name, fails first") {}
  xit("is skipped") {}
end

RSpec.describe "Storage" do
  context "set-up" do
    before { raise "no storage" }
    it("errors in set-up") {}
  end

  context "tear-down" do
    after { raise "storage is still open" }
    it("errors in tear-down") {}
  end
end
