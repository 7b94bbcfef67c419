describe("order", () => it("same name in two files", () => expect(1).toBe(2)));
