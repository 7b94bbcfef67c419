// Tests: tests/routes/actions_test.ts tests/routes/flaky_groups_page_test.ts
/** Quarantine of all tests that fail together: one fault, one decision. */
import * as v from "valibot";
import {
  addQuarantine,
  findTest,
  type StoredTest,
  TestDeletedError,
} from "../../db/admin/quarantine.ts";
import { writeTransaction } from "../../db/write/transaction.ts";
import { newEntry } from "../../lib/analysis/quarantine.ts";
import type { TrackedTest } from "../../lib/analysis/tracked_test.ts";
import { parseTestId } from "../../lib/base/identity.ts";
import { formatRepositoryName, type RepositoryName } from "../../lib/base/repository_name.ts";
import { plural } from "../../lib/base/text.ts";
import { testName, verbatim } from "../../lib/html/elements.ts";
import { hiddenFields, otherErrors } from "../../lib/html/forms.ts";
import { type Markup, markup, type PathTo, plainAddress } from "../../lib/html/markup.ts";
import type { ParameterErrors } from "../../lib/http/request/errors.ts";
import type { Action, ActionResult, Editor } from "../../lib/http/request/route.ts";
import { defineAction, formTokenField, originOf, readForm, wrongFormPage } from "./action.ts";
import { organizationWord, type PageRequest } from "./page.ts";
import { bulkCommands, ownerOf, tokenHint } from "./quarantine.ts";
import { ENTRY, ENTRY_FIELDS, entryFields, type WrongForm } from "./quarantine_forms.ts";

/** As many ids as fit into a form. */
const MAX_TESTS = 500;

const FORM = v.object({
  ...ENTRY.entries,
  tests: v.pipe(
    v.string("missing"),
    v.transform((text) => text.split(" ").map(parseTestId)),
    v.check(
      (tests) => tests.length <= MAX_TESTS && tests.every((test) => test !== null),
      `expected at most ${MAX_TESTS} ids of tests`,
    ),
  ),
});

/** The form, or the commands where the reader may not act, that quarantine some tests of a repository. */
export async function bulkSection(
  tests: readonly TrackedTest[],
  repository: RepositoryName,
  page: PageRequest,
): Promise<Markup> {
  const ids = tests.slice(0, MAX_TESTS).map(({ id }) => id);
  const owners = new Set(tests.map((test) => ownerOf(test, "")));
  const owner = owners.size === 1 ? [...owners][0]! : "";
  const title = markup`<h2 id="quarantine">Quarantine ${
    ids.length === 1
      ? "it"
      : ids.length < tests.length
      ? `the first ${ids.length} of ${plural(tests.length, "test")}`
      : `all ${plural(ids.length, "test")}`
  }</h2>`;
  if (page.editor) {
    return markup`${title}${bulkForm({ ...page, ids: ids.join(" "), owner }, page.editor)}`;
  }
  const organization = await organizationWord(page);
  const { overHttp, onServer } = bulkCommands(ids, { ...page, repository, owner: owner || "WHO" });
  return markup`${title}<p>For two weeks, with the reason in place of <code>WHY</code>:</p>
${verbatim(overHttp)}
${tokenHint({ ...page, organization })}
${verbatim(onServer)}`;
}

function bulkForm(
  { pathTo, ids, owner }: { pathTo: PathTo; ids: string; owner: string },
  editor: Editor,
  wrong?: WrongForm,
): Markup {
  return markup`<form class="acts" method="post" action="${
    pathTo(["flaky-tests", "quarantine"])
  }">${formTokenField(editor)}${hiddenFields({ tests: ids })}${
    entryFields({ entry: null, owner }, wrong)
  }<button>Quarantine all</button>${wrong && otherErrors(wrong.errors, ENTRY_FIELDS)}</form>`;
}

export const bulkQuarantining = defineAction({
  path: "/flaky-tests/quarantine",
  // A page with a wrong form, opened again, leads back to the list.
  methods: ["GET", "HEAD", "POST"],
  async act(action, sql) {
    const { editor, form, now } = action;
    if (!form) return toList(action, {});
    const read = readForm(form, FORM);
    if (read.errors) return wrongForm(action, [], read.errors);
    const { tests: ids, ...entry } = read.values;
    const tests: StoredTest[] = [];
    for (const id of ids) {
      const test = await findTest(sql, id!);
      if (test?.repository.organizationId !== action.caller.organizationId) {
        return wrongForm(action, [], { tests: ["one of the tests does not exist"] });
      }
      tests.push(test);
    }
    const made = newEntry({ ...entry, by: editor.name }, now);
    if ("wrongEnd" in made) return wrongForm(action, tests, { expires: [made.wrongEnd] });
    const origin = originOf(editor, "quarantine add");
    // All or none; repositories are locked in one order.
    const ordered = tests.toSorted((a, b) => a.repository.repositoryId - b.repository.repositoryId);
    try {
      await writeTransaction(sql, async (tx) => {
        for (const test of ordered) await addQuarantine(tx, test, made.entry, origin);
      });
    } catch (error) {
      if (!(error instanceof TestDeletedError)) throw error;
      return wrongForm(action, tests, { tests: ["one of the tests was deleted meanwhile"] });
    }
    const repository = formatRepositoryName(tests[0]!.repository);
    return toList(action, { quarantine: "true", repository });
  },
});

function toList({ pathTo }: Action, query: Record<string, string>): ActionResult {
  return { redirect: plainAddress(pathTo(["flaky-tests"], query)) };
}

/** A page with the form as it was sent, and what is wrong with it. */
function wrongForm(
  { editor, form, pathTo }: Action,
  tests: readonly StoredTest[],
  errors: ParameterErrors,
): ActionResult {
  const fields = { pathTo, ids: form!.get("tests") ?? "", owner: "" };
  const list = pathTo(["flaky-tests"], { quarantine: "false" });
  return wrongFormPage("Quarantine", {
    back: markup`<a href="${list}">the flaky tests</a>`,
    form: markup`<ul>${tests.map(({ name }) => markup`<li>${testName(name)}</li>`)}</ul>${
      bulkForm(fields, editor, { sent: form!, errors })
    }`,
  });
}
