import { expect, test } from "vitest";

test("passes in one project", () => expect(process.env.PROJECT ?? "one").toBe("one"));
