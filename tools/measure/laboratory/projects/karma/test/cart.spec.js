let calls = 0;

describe("cart", () => {
  it("passes", () => {});
  it("always fails", () => expect(1).toBe(2));
  it("passes then fails", () => expect(++calls).toBe(1));
  xit("is skipped", () => {});
});

describe("errors in set-up", () => {
  beforeEach(() => {
    throw new Error("no storage");
  });
  it("of a test", () => {});
});
