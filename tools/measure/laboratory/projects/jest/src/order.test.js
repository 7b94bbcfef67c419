describe("cart", () => {
  test("same name in two files", () => {});
});
