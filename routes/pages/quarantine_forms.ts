// Tests: tests/routes/actions_test.ts
/** The forms by which a person who may act quarantines a test, changes its entry, or releases it. */
import * as v from "valibot";
import {
  addQuarantine,
  findActive,
  findTest,
  removeQuarantine,
  type StoredTest,
  TestDeletedError,
} from "../../db/admin/quarantine.ts";
import type { Database } from "../../db/connection/connect.ts";
import { writeTransaction } from "../../db/write/transaction.ts";
import { newEntry, type Quarantine } from "../../lib/analysis/quarantine.ts";
import { testId } from "../../lib/base/identity.ts";
import { formatTimestamp } from "../../lib/base/time.ts";
import { expiry, lineOfText } from "../../lib/base/value_schemas.ts";
import { testName } from "../../lib/html/elements.ts";
import { otherErrors, textField } from "../../lib/html/forms.ts";
import { type Markup, markup, type PathTo, plainAddress } from "../../lib/html/markup.ts";
import type { ParameterErrors } from "../../lib/http/request/errors.ts";
import type { Action, ActionResult, Editor } from "../../lib/http/request/route.ts";
import { defineAction, formTokenField, originOf, readForm, wrongFormPage } from "./action.ts";

const text = v.optional(lineOfText);
export const ENTRY = v.object({ reason: text, owner: text, expires: v.optional(expiry) });
export const ENTRY_FIELDS: readonly string[] = Object.keys(ENTRY.entries);
const RELEASE = v.object({ reason: text });

/** A page with a wrong form, opened again, leads back to the test. */
const METHODS = ["GET", "HEAD", "POST"];

/** What the forms of a test are filled with. */
interface QuarantinedTest {
  pathTo: PathTo;
  /** 24 hex digits. */
  id: string;
  entry: Quarantine | null;
  /** The owner to suggest, `""` for none. */
  owner: string;
}

/** A form that was sent and is wrong. */
export interface WrongForm {
  sent: URLSearchParams;
  errors: ParameterErrors;
}

/** The forms for a test: to quarantine it; or to change its entry and to release it. */
export function quarantineForms(test: QuarantinedTest, editor: Editor): Markup {
  return test.entry
    ? markup`${entryForm(test, editor)}${releaseForm(test, editor)}`
    : entryForm(test, editor);
}

function entryForm(test: QuarantinedTest, editor: Editor, wrong?: WrongForm): Markup {
  const { pathTo, id, entry } = test;
  return markup`<form class="acts" method="post" action="${pathTo(["tests", id, "quarantine"])}">${
    formTokenField(editor)
  }${entryFields(test, wrong)}<button>${entry ? "Change" : "Quarantine"}</button>${
    wrong && otherErrors(wrong.errors, ENTRY_FIELDS)
  }</form>`;
}

/** The fields of an entry, with what is wrong with them. */
export function entryFields(
  { entry, owner }: Pick<QuarantinedTest, "entry" | "owner">,
  wrong?: WrongForm,
): Markup {
  const valueOf = (name: string, otherwise: string) => wrong?.sent.get(name) ?? otherwise;
  const end = entry?.quarantineExpiresAt ?? null;
  return markup`${
    textField({
      name: "reason",
      label: "Reason",
      hint: "why it is flaky, or an issue",
      value: valueOf("reason", entry?.quarantineReason ?? ""),
      errors: wrong?.errors.reason,
    })
  }${
    textField({
      name: "owner",
      label: "Owner",
      hint: "who fixes it",
      value: valueOf("owner", entry?.quarantineOwner ?? owner),
      errors: wrong?.errors.owner,
    })
  }${
    textField({
      name: "expires",
      label: "End: a duration or a time",
      hint: "14d or 2026-01-31T08:00:00Z",
      value: valueOf("expires", entry ? end === null ? "" : formatTimestamp(end) : "14d"),
      errors: wrong?.errors.expires,
    })
  }`;
}

function releaseForm(
  { pathTo, id }: QuarantinedTest,
  editor: Editor,
  wrong?: WrongForm,
): Markup {
  return markup`<form class="acts" method="post" action="${pathTo(["tests", id, "release"])}">${
    formTokenField(editor)
  }${
    textField({
      name: "reason",
      id: "release-reason",
      label: "Reason for the release",
      hint: "fixed in 24d0c8b",
      value: wrong?.sent.get("reason") ?? "",
      errors: wrong?.errors.reason,
    })
  }<button>Release</button>${wrong && otherErrors(wrong.errors, ["reason"])}</form>`;
}

export const quarantining = defineAction({
  path: "/tests/:id/quarantine",
  resource: "test in path",
  methods: METHODS,
  async act(action, sql) {
    const { editor, form, now } = action;
    if (!form) return toTest(action);
    const read = readForm(form, ENTRY);
    if (read.errors) return await wrongForm(action, sql, entryForm, read.errors);
    const made = newEntry({ ...read.values, by: editor.name }, now);
    if ("wrongEnd" in made) {
      return await wrongForm(action, sql, entryForm, { expires: [made.wrongEnd] });
    }
    const test = await requireTest(action, sql);
    await writeTransaction(
      sql,
      (tx) => addQuarantine(tx, test, made.entry, originOf(editor, "quarantine add")),
    );
    return toTest(action);
  },
});

export const releasing = defineAction({
  path: "/tests/:id/release",
  resource: "test in path",
  methods: METHODS,
  async act(action, sql) {
    const { editor, form, now } = action;
    if (!form) return toTest(action);
    const read = readForm(form, RELEASE);
    if (read.errors) return await wrongForm(action, sql, releaseForm, read.errors);
    const test = await requireTest(action, sql);
    const removal = {
      removedAt: now,
      removedBy: editor.name,
      reason: read.values.reason ?? null,
    };
    await writeTransaction(
      sql,
      (tx) => removeQuarantine(tx, test, removal, originOf(editor, "quarantine remove")),
    );
    return toTest(action);
  },
});

/**
 * The test in the path. The checks of the request have found it in the person's organization.
 * @throws {TestDeletedError} when it was deleted since
 */
async function requireTest(
  { test, caller }: Action,
  sql: Database["sql"],
): Promise<StoredTest> {
  const found = await findTest(sql, test!);
  if (found?.repository.organizationId !== caller.organizationId) {
    throw new TestDeletedError(`test ${idOf(test)} was deleted`);
  }
  return found;
}

/** Back to the page of the test. */
function toTest({ test, pathTo }: Action): ActionResult {
  return { redirect: `${plainAddress(pathTo(["tests", idOf(test)]))}#quarantine` };
}

function idOf(test: Action["test"]): string {
  return testId(test!.idPrefix, test!.testHash);
}

/** A page with the form as it was sent, and what is wrong with it. */
async function wrongForm(
  action: Action,
  sql: Database["sql"],
  formOf: typeof entryForm | typeof releaseForm,
  errors: ParameterErrors,
): Promise<ActionResult> {
  const { editor, form, now, pathTo } = action;
  const test = await requireTest(action, sql);
  const { name, id } = test;
  const entry = await findActive(sql, test, now);
  return wrongFormPage(testName(name), {
    back: markup`<a href="${pathTo(["tests", id])}">the test</a>`,
    form: formOf({ pathTo, id, entry, owner: "" }, editor, { sent: form!, errors }),
  });
}
