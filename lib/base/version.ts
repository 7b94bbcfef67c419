// Tests: tests/lib/cli/program_test.ts
import config from "../../deno.json" with { type: "json" };

export const VERSION: string = config.version;

/** The program's name in commands that messages suggest: from a checkout, or as one file. */
export const PROGRAM: string = import.meta.url.endsWith(".ts") ? "deno task cli" : "test-analytics";
