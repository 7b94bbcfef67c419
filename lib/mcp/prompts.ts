// Tests: tests/lib/mcp/server_test.ts
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import type { McpServer } from "@modelcontextprotocol/server";
import * as v from "valibot";
import healthPlan from "./ci_health_check.md" with { type: "text" };
import failurePlan from "./explain_test_failure.md" with { type: "text" };
import triagePlan from "./triage_flaky_tests.md" with { type: "text" };
import redPlan from "./whats_red.md" with { type: "text" };
import { described, repositoryArgument } from "./tools/tool.ts";

const repository = repositoryArgument("owner/name");

/** Adds the prompts: plans of tool calls for four common questions. */
export function registerPrompts(server: McpServer): void {
  server.registerPrompt("triage_flaky_tests", {
    title: "Triage the flaky tests of a repository",
    description: "Which flaky tests to fix first, how each one fails, and what to do about it",
    argsSchema: toStandardJsonSchema(v.object({ repository })),
  }, (values) => promptOf(triagePlan, values));
  server.registerPrompt("ci_health_check", {
    title: "Check the health of CI of a repository",
    description: "How flaky its builds are, whether results arrive, and what to fix first",
    argsSchema: toStandardJsonSchema(v.object({ repository })),
  }, (values) => promptOf(healthPlan, values));
  const failure = described(
    v.string(),
    "Name or id of a test, its message, or the build's address",
  );
  server.registerPrompt("explain_test_failure", {
    title: "Explain why a test failed",
    description: "Whether a failure is flaky or real, with the evidence, and what to do",
    argsSchema: toStandardJsonSchema(v.object({ repository, failure: v.optional(failure, "") })),
  }, (values) => promptOf(failurePlan, values));
  const branch = described(v.string(), "Only these branches: main,release/*");
  server.registerPrompt("whats_red", {
    title: "What is red in CI right now",
    description: "The causes behind the latest failures, which are flaky and which are broken",
    argsSchema: toStandardJsonSchema(v.object({ repository, branch: v.optional(branch, "") })),
  }, (values) => promptOf(redPlan, values));
}

/** Fills in the values as JSON, which ends where it should. */
function promptOf(plan: string, values: Record<string, string>) {
  const text = plan.trimEnd().replaceAll(/\{(\w+)\}/g, (_, name) => JSON.stringify(values[name]));
  return { messages: [{ role: "user" as const, content: { type: "text" as const, text } }] };
}
