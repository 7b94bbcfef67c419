import * as v from "valibot";
import { formatTimestamp } from "../../base/time.ts";
import { duration, MAX_LIFETIME_SECONDS } from "../../base/value_schemas.ts";
import { composeDigest } from "../../digest/digest.ts";
import { digestMarkdown, digestSlack } from "../../digest/format.ts";
import { type AddCommand, command } from "../command.ts";
import { loadDigestInput } from "../digest_input.ts";
import { openOrganization, ORG, selectRepositories } from "../organization.ts";
import { oneOf, option, repositoryName } from "../parameters.ts";
import { readPublicUrl } from "../settings.ts";
import { wrapLine } from "../table.ts";

export const digestCommand: AddCommand = command({
  name: "digest",
  summary: "Print recent changes in flaky and quarantined tests",
  example: "digest --org acme",
  moreExamples: ["digest --org acme --since 1d --group-by owner --format slack"],
  details: [
    "Compares the 14 days until now with the 14 days until --since. A test became flaky if its first " +
    "disruption ever was since then, and calmed down if it was disruptive in the latter only. To send " +
    "the digest, pipe it to curl.",
  ],
  settings: ["TIME_ZONE"],
  environment: ["PUBLIC_URL"],
  input: {
    org: ORG,
    repo: option("<owner/name>", "repository (default: all)", v.optional(repositoryName)),
    since: option(
      "<duration>",
      "how far back (default: 7d)",
      v.optional(duration({ max: MAX_LIFETIME_SECONDS }), "7d"),
    ),
    groupBy: option("<field>", "group tests by this field: owner", v.optional(oneOf(["owner"]))),
    format: option(
      "<format>",
      "markdown (default), slack (the body for a webhook) or json",
      v.optional(oneOf(["markdown", "slack", "json"]), "markdown"),
    ),
  },
  async run({ org, repo, since, groupBy, format }, context, { TIME_ZONE: zone }) {
    const { now, io } = context;
    const pagesUrl = readPublicUrl(io.environment);
    const { sql, organization } = await openOrganization(context, org);
    const repositories = await selectRepositories(sql, organization, repo);
    const input = await loadDigestInput(sql, repositories, {
      now,
      since,
      organizationId: organization.organizationId,
    });
    const digest = composeDigest(input, {
      organization: organization.name,
      since: formatTimestamp(now - since),
      until: formatTimestamp(now),
      group_by: groupBy ?? null,
    });
    if (context.json || format === "json") return await io.stdout(`${JSON.stringify(digest)}\n`);
    if (format === "slack") return await io.stdout(`${digestSlack(digest, pagesUrl, zone)}\n`);
    const text = digestMarkdown(digest, pagesUrl, zone);
    await io.stdout(io.columns === undefined ? text : wrapMarkdown(text, io.columns));
  },
});

/** Markdown with its paragraphs and items broken to the width of a terminal. */
function wrapMarkdown(text: string, width: number): string {
  return text.split("\n").flatMap((line) =>
    line.startsWith("#")
      ? [line]
      : wrapLine(line, { width, indent: line.startsWith("- ") ? "  " : "" })
  ).join("\n");
}
