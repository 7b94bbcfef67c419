const fail = () => {
  throw new Error("1 is not 2");
};

let attempts = 0;

describe("cart", () => {
  it("passes", () => {});
  it("always fails", fail);
  it("fails then passes", () => ++attempts > 1 || fail()).retries(2);
  it("same name", () => {});
  it("same name", fail);
  it("same name, fails first", fail);
  it("same name, fails first", () => {});
  it.skip("is skipped", () => {});
});
