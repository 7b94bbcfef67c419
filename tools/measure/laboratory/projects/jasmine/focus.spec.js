describe("cart", () => {
  fit("is focused", () => {});
  it("is left out", () => expect(1).toBe(2));
});
