import { expect, test } from "bun:test";

test("same name in two files", () => {});
