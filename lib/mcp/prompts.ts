import { toStandardJsonSchema } from "@valibot/to-json-schema";
import type { McpServer } from "@modelcontextprotocol/server";
import * as v from "valibot";
import redCiPlan from "./explain_red_ci.md" with { type: "text" };
import triagePlan from "./triage_flaky_tests.md" with { type: "text" };
import { described, repositoryArgument } from "./tools/tool.ts";

const repository = repositoryArgument("owner/name");

/** Adds the prompts: plans of tool calls for two common questions. */
export function registerPrompts(server: McpServer): void {
  server.registerPrompt("triage_flaky_tests", {
    title: "Triage the flaky tests of a repository",
    description: "Which flaky tests to fix first, how each one fails, and what to do about it",
    argsSchema: toStandardJsonSchema(v.object({ repository })),
  }, (values) => promptOf(triagePlan, values));
  const failure = described(v.string(), "Failed test, error message or address of the build");
  server.registerPrompt("explain_red_ci", {
    title: "Explain why CI is red",
    description: "Whether a red build is a flaky test, a real failure or missing results",
    argsSchema: toStandardJsonSchema(v.object({ repository, failure: v.optional(failure, "") })),
  }, (values) => promptOf(redCiPlan, values));
}

/** Fills in the values as JSON, which ends where it should. */
function promptOf(plan: string, values: Record<string, string>) {
  const text = plan.trimEnd().replaceAll(/\{(\w+)\}/g, (_, name) => JSON.stringify(values[name]));
  return { messages: [{ role: "user" as const, content: { type: "text" as const, text } }] };
}
