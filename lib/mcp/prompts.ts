/** Prompts for two common questions, as plans of tool calls. */
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import type { McpServer } from "@modelcontextprotocol/server";
import * as v from "valibot";
import redCiPlan from "./explain_red_ci.md" with { type: "text" };
import triagePlan from "./triage_flaky_tests.md" with { type: "text" };

const MAX_ARGUMENT_CHARACTERS = 500;

/** Adds the prompts to a server. */
export function registerPrompts(server: McpServer): void {
  server.registerPrompt("triage_flaky_tests", {
    title: "Triage the flaky tests of a repository",
    description: "Which flaky tests to fix first, how each one fails, and what to do about it",
    argsSchema: toStandardJsonSchema(v.object({ repository: argument("owner/name") })),
  }, (values) => userMessage(triagePlan, values));

  server.registerPrompt("explain_red_ci", {
    title: "Explain why CI is red",
    description: "Whether a red build is a flaky test, a real failure or missing results",
    argsSchema: toStandardJsonSchema(v.object({
      repository: argument("owner/name"),
      failure: v.optional(argument("Failed test, error message or address of the build")),
    })),
  }, ({ repository, failure }) => {
    const known = failure === undefined
      ? "Ask me for the failed test or the build's address if you cannot see it yourself."
      : `What failed: ${JSON.stringify(failure.trim())}.`;
    return userMessage(redCiPlan.replace("{known}", () => known), { repository });
  });
}

function argument(description: string) {
  return v.pipe(
    v.string(),
    v.regex(/\S/, ({ received }) => `${received} is blank: expected a text`),
    v.maxLength(MAX_ARGUMENT_CHARACTERS),
    v.description(description),
  );
}

function userMessage(plan: string, { repository }: { repository: string }) {
  const text = plan.trimEnd().replace("{repository}", () => JSON.stringify(repository.trim()));
  return { messages: [{ role: "user" as const, content: { type: "text" as const, text } }] };
}
