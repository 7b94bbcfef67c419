import assert from "node:assert/strict";
import { test } from "node:test";

test("same name in two files", () => assert.equal(1, 2));
