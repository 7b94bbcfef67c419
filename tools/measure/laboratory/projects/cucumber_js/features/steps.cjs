const assert = require("node:assert");
const { Given } = require("@cucumber/cucumber");

let attempts = 0;

Given("a step that passes", () => {});
Given("a step that fails", () => assert.equal(1, 2));
Given("a step that fails once", () => assert(++attempts > 1));
