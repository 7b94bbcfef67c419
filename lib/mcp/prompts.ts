// Tests: tests/lib/mcp/server_test.ts
import type { McpServer } from "@modelcontextprotocol/server";
import * as v from "valibot";
import healthPlan from "./ci_health_check.md" with { type: "text" };
import failurePlan from "./explain_test_failure.md" with { type: "text" };
import { withJsonSchema } from "./json_schema.ts";
import schemas from "./schemas.json" with { type: "json" };
import triagePlan from "./triage_flaky_tests.md" with { type: "text" };
import redPlan from "./whats_red.md" with { type: "text" };
import { described, repositoryArgument } from "./tools/tool.ts";

const repository = repositoryArgument("owner/name");

const failure = described(v.string(), "Name or id of a test, its message, or the build's address");

const branch = described(v.string(), "Only these branches: main,release/*");

/** Plans of tool calls for four common questions. */
export const PROMPTS = {
  triage_flaky_tests: {
    title: "Triage the flaky tests of a repository",
    description: "Which flaky tests to fix first, how each one fails, and what to do about it",
    args: v.object({ repository }),
    plan: triagePlan,
  },
  ci_health_check: {
    title: "Check the health of CI of a repository",
    description: "How flaky its builds are, whether results arrive, and what to fix first",
    args: v.object({ repository }),
    plan: healthPlan,
  },
  explain_test_failure: {
    title: "Explain why a test failed",
    description: "Whether a failure is flaky or real, with the evidence, and what to do",
    args: v.object({ repository, failure: v.optional(failure, "") }),
    plan: failurePlan,
  },
  whats_red: {
    title: "What is red in CI right now",
    description: "The causes behind the latest failures, which are flaky and which are broken",
    args: v.object({ repository, branch: v.optional(branch, "") }),
    plan: redPlan,
  },
};

export function registerPrompts(server: McpServer): void {
  for (const [name, { args, plan, ...shown }] of Object.entries(PROMPTS)) {
    const argsSchema = withJsonSchema<Record<string, string>>(
      args,
      schemas.prompts[name as keyof typeof PROMPTS],
    );
    server.registerPrompt(name, { ...shown, argsSchema }, (values) => promptOf(plan, values));
  }
}

/** Fills in the values as JSON, which ends where it should. */
function promptOf(plan: string, values: Record<string, string>) {
  const text = plan.trimEnd().replaceAll(/\{(\w+)\}/g, (_, name) => JSON.stringify(values[name]));
  return { messages: [{ role: "user" as const, content: { type: "text" as const, text } }] };
}
