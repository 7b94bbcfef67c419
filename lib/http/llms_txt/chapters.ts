/** The chapters of llms-full.txt that are not generated from the route table. */
import { MAX_OFFSET } from "../../base/cursor.ts";
import {
  MAX_BRANCH_CHARACTERS,
  MAX_BRANCH_PATTERNS,
  MAX_QUERY_CHARACTERS,
} from "../../query/mod.ts";
import { MAX_LIMIT } from "../request/parameters.ts";
import type { Tag } from "../request/route.ts";
import badges from "./badges.md" with { type: "text" };
import introduction from "./introduction.md" with { type: "text" };
import otherInterfaces from "./other_interfaces.md" with { type: "text" };
import repositories from "./repositories.md" with { type: "text" };
import tests from "./tests.md" with { type: "text" };

/** Overview of the service. */
export const INTRODUCTION: string = introduction.trimEnd();

/** Rows of the table of limits that belong to no single parameter. */
export const LIMITS: readonly string[][] = [
  ["largest page; a larger `limit` is reduced to it", String(MAX_LIMIT)],
  ["window", "14 days"],
  ["events of one test", "the latest 10"],
  ["length of `q`", `${MAX_QUERY_CHARACTERS} characters`],
  ["length of `branch`", `${MAX_BRANCH_CHARACTERS} characters, ${MAX_BRANCH_PATTERNS} patterns`],
  ["length of a `message`", "1,000 characters"],
  ["offset in a cursor", String(MAX_OFFSET)],
  ["request rate", "unlimited"],
];

/** Text before the endpoints of a group. */
export const GROUP_TEXTS: Partial<Record<Tag, string>> = {
  Repositories: repositories.trimEnd(),
  Tests: tests.trimEnd(),
  Badges: badges.trimEnd(),
};

/** The command line and the agent tools. */
export const OTHER_INTERFACES: string = otherInterfaces.trimEnd();
