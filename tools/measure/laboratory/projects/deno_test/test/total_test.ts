Deno.test("same name", () => {});
