const assert = require("node:assert");

it("same name in two files", () => assert.equal(1, 2));
