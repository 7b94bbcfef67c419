// Tests: tests/lib/cli/commands/flaky_test.ts
import * as v from "valibot";
import * as parameters from "../http/request/parameters.ts";
import { option, wholeNumber } from "./parameters.ts";

/** Tests that are listed without `--limit`. */
export const DEFAULT_LIMIT = 25;

/** Options of commands that list tests, with the filters of the API. */
export const LIST_OPTIONS = {
  branch: option("<main,release/*>", "only submissions of these branches", parameters.branch),
  environment: option("<list>", "only submissions of these environments", parameters.environment),
  limit: option(
    "<n>",
    `maximum number of tests (default: ${DEFAULT_LIMIT})`,
    v.optional(wholeNumber({ min: 1, max: 100_000 }), String(DEFAULT_LIMIT)),
  ),
};
