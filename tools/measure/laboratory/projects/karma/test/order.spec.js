describe("order", () => it("same name in two files", () => {}));
