// Tests: tests/routes/quarantine_end_test.ts
/** What the page of a test says about its quarantine, with the commands that begin or end it. */
import type { TestDetails } from "../../db/read/details_of_test.ts";
import type { RepositoryDetails } from "../../db/read/repositories.ts";
import { type Quarantine, type QuarantineEvent, sayLimit } from "../../lib/analysis/quarantine.ts";
import { ownersOf } from "../../lib/analysis/test_tags.ts";
import { shellWord } from "../../lib/base/quote.ts";
import type { RepositoryName } from "../../lib/base/repository_name.ts";
import { together, verbatim } from "../../lib/html/elements.ts";
import { type Markup, markup } from "../../lib/html/markup.ts";
import { type PageRequest, uploadAddress } from "./page.ts";
import { quarantineForms } from "./quarantine_forms.ts";

export interface TestPage extends PageRequest {
  repository: RepositoryDetails;
  test: TestDetails;
  /** Name of the organization, as a word of a command. */
  organization: string;
}

/** The state of a test, the commands to change it, and the log. */
export function quarantineSection(log: readonly QuarantineEvent[], page: TestPage): Markup {
  const { test, at, link } = page;
  const { quarantine: entry } = test;
  const reason = entry?.quarantineReason && `: ${entry.quarantineReason}`;
  const limitOf = ({ quarantineEnvironment }: Pick<Quarantine, "quarantineEnvironment">) =>
    quarantineEnvironment !== null && `, ${sayLimit(quarantineEnvironment)}`;
  const state = entry
    ? markup`<p>Quarantined ${at(entry.quarantinedAt)}, ${entry.quarantineType}${
      limitOf(entry)
    }${reason}.
Owner: <b>${
      entry.quarantineOwner === null ? "none" : link.owner(entry.quarantineOwner)
    }</b>; end: ${at(entry.quarantineExpiresAt)}. ${!page.editor && "To end it now:"}</p>`
    : markup`<p>It is not quarantined. ${
      !page.editor && markup`To quarantine it for two weeks, with the reason in place of
<code>WHY</code>:`
    }</p>`;
  const events = log.toReversed().map((event) =>
    markup`<li>${at(event.at)}: <b>${event.action}</b>${event.author && ` by ${event.author}`}${
      limitOf(event)
    }${event.quarantineReason && `: ${event.quarantineReason}`}</li>`
  );
  const shownLog = events.length > 0 && markup`<h3>Log</h3><ul>${events}</ul>`;
  if (page.editor) {
    const owner = ownerOf(test, "");
    return markup`${state}${
      quarantineForms({ ...page, id: test.id, entry, owner }, page.editor)
    }${shownLog}`;
  }
  const { overHttp, onServer } = quarantineCommands(page);
  return markup`${state}${verbatim(overHttp)}
${tokenHint(page)}
${verbatim(onServer)}${shownLog}`;
}

/** Where the token of the first command comes from, before the command on the server. */
export function tokenHint(
  { uploadUrl, organization, pathTo }: Pick<TestPage, "uploadUrl" | "organization" | "pathTo">,
): Markup {
  return markup`<p class="soft">${
    !uploadUrl && markup`<code>UPLOAD_URL</code> is the address for uploads. `
  }A quarantine token comes from <code>test-analytics token create --org ${organization}
${together("--quarantine")}</code>: a team has one for all of its tests (<a href="${
    pathTo(["docs", "guides", "quarantine"])
  }">guide</a>). On the server:</p>`;
}

const IDS_PER_LINE = 3;

/** The commands that quarantine several tests of a repository. */
export function bulkCommands(
  ids: readonly string[],
  { owner, repository, uploadUrl }: {
    owner: string;
    repository: RepositoryName;
    uploadUrl: string;
  },
) {
  const lines = Array.from(
    { length: Math.ceil(ids.length / IDS_PER_LINE) },
    (_, line) => ids.slice(line * IDS_PER_LINE, (line + 1) * IDS_PER_LINE).join(" "),
  );
  const each = (command: string) =>
    `for test in \\\n  ${lines.join(" \\\n  ")}\ndo\n  ${command.replaceAll("\n", "\n  ")}\ndone`;
  return {
    overHttp: each(
      addOverHttp(`"test=$test"`, { owner, address: quarantineAddress(repository, { uploadUrl }) }),
    ),
    onServer: each(addOnServer(`"$test"`, owner)),
  };
}

/** The only owner of a test, from CODEOWNERS; `otherwise` when there are none or several. */
export function ownerOf({ tags }: { tags: readonly string[] }, otherwise: string): string {
  const owners = ownersOf(tags);
  return owners.length === 1 ? owners[0]! : otherwise;
}

/** The address for the quarantine of a repository, at the beginning of a quoted word. */
function quarantineAddress(
  { owner, name }: RepositoryName,
  page: Pick<PageRequest, "uploadUrl">,
): string {
  const path = [...owner.split("/"), name].map(encodeURIComponent).join("/")
    // An interactive bash expands it, also between double quotes.
    .replaceAll("!", "%21");
  return `"${uploadAddress(page)}/quarantine/${path}`;
}

function curl(...words: string[]): string {
  return ["curl --fail-with-body", '-H "Authorization: Bearer $QUARANTINE_TOKEN"', ...words]
    .join(" \\\n  ");
}

function addOverHttp(test: string, { owner, address }: { owner: string; address: string }): string {
  return curl(
    `-d ${test} -d expires=14d`,
    `--data-urlencode "by=$USER"`,
    `--data-urlencode ${shellWord(`owner=${owner}`)}`,
    `--data-urlencode "reason=WHY"`,
    `${address}"`,
  );
}

function addOnServer(test: string, owner: string): string {
  return `test-analytics quarantine add ${test} --by "$USER" --owner ${
    shellWord(owner)
  } --reason WHY --expires 14d`;
}

/** The commands that quarantine a test, or release it. */
function quarantineCommands({ test, repository, uploadUrl }: TestPage) {
  const { id } = test;
  const owner = ownerOf(test, "WHO");
  const address = quarantineAddress(repository, { uploadUrl });
  if (test.quarantine) {
    return {
      overHttp: curl("-X DELETE -G", `--data-urlencode "by=$USER"`, `${address}/${id}"`),
      onServer: `test-analytics quarantine remove ${id} --by "$USER"`,
    };
  }
  return {
    overHttp: addOverHttp(`test=${id}`, { owner, address }),
    onServer: addOnServer(id, owner),
  };
}
