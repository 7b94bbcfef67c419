test("total adds up", () => {});
