// Tests: tests/routes/quarantine_end_test.ts
/** What the page of a test says about its quarantine, with the commands that begin or end it. */
import type { TestDetails } from "../../db/read/details_of_test.ts";
import type { RepositoryDetails } from "../../db/read/repositories.ts";
import type { QuarantineEvent } from "../../lib/analysis/quarantine.ts";
import { ownersOf } from "../../lib/analysis/test_tags.ts";
import { shellWord } from "../../lib/base/quote.ts";
import { together, verbatim } from "../../lib/html/elements.ts";
import { type Markup, markup } from "../../lib/html/markup.ts";
import { type PageRequest, uploadAddress } from "./page.ts";
import { quarantineForms } from "./quarantine_forms.ts";

/** The request for the page of a test. */
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
  const where = entry?.quarantineEnvironment && `, in ${entry.quarantineEnvironment} only`;
  const state = entry
    ? markup`<p>Quarantined ${at(entry.quarantinedAt)}, ${entry.quarantineType}${where}${reason}.
Owner: <b>${
      entry.quarantineOwner === null ? "none" : link.owner(entry.quarantineOwner)
    }</b>; end: ${at(entry.quarantineExpiresAt)}. ${!page.editor && "To end it now:"}</p>`
    : markup`<p>It is not quarantined. ${
      !page.editor && markup`To quarantine it for two weeks, with the reason in place of
<code>WHY</code>:`
    }</p>`;
  const events = log.toReversed().map((event) =>
    markup`<li>${at(event.at)}: <b>${event.action}</b>${event.author && ` by ${event.author}`}${
      event.quarantineReason && `: ${event.quarantineReason}`
    }</li>`
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
<p class="soft">${
    !page.uploadUrl && markup`<code>UPLOAD_URL</code> is the address for uploads. `
  }A quarantine token comes from <code>test-analytics token create --org ${page.organization}
${together("--quarantine")}</code>: a team has one for all of its tests (<a href="${
    page.pathTo(["docs", "guides", "quarantine"])
  }">guide</a>). On the server:</p>
${verbatim(onServer)}${shownLog}`;
}

/** The only owner of a test, from CODEOWNERS; `otherwise` when there are none or several. */
function ownerOf({ tags }: TestDetails, otherwise: string): string {
  const owners = ownersOf(tags);
  return owners.length === 1 ? owners[0]! : otherwise;
}

/** The commands that quarantine a test, or release it. */
function quarantineCommands({ test, repository, uploadUrl }: TestPage) {
  const { id } = test;
  const owner = ownerOf(test, "WHO");
  const path = [...repository.owner.split("/"), repository.name].map(encodeURIComponent).join("/")
    // An interactive bash expands it, also between double quotes.
    .replaceAll("!", "%21");
  const address = `"${uploadAddress({ uploadUrl })}/quarantine/${path}`;
  const curl = (...words: string[]) =>
    ["curl --fail-with-body", '-H "Authorization: Bearer $QUARANTINE_TOKEN"', ...words]
      .join(" \\\n  ");
  if (test.quarantine) {
    return {
      overHttp: curl("-X DELETE -G", `--data-urlencode "by=$USER"`, `${address}/${id}"`),
      onServer: `test-analytics quarantine remove ${id} --by "$USER"`,
    };
  }
  return {
    overHttp: curl(
      `-d test=${id} -d expires=14d`,
      `--data-urlencode "by=$USER"`,
      `--data-urlencode ${shellWord(`owner=${owner}`)}`,
      `--data-urlencode "reason=WHY"`,
      `${address}"`,
    ),
    onServer: `test-analytics quarantine add ${id} --by "$USER" --owner ${
      shellWord(owner)
    } --reason WHY --expires 14d`,
  };
}
