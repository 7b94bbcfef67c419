// Tests: tests/routes/actions_test.ts
/** `/tokens`: the API tokens that a person who may act made for themselves. */
import * as v from "valibot";
import {
  listOwnTokens,
  revokeStoredToken,
  storeOwnToken,
  type Token,
} from "../../db/admin/tokens.ts";
import type { Database } from "../../db/connection/connect.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { makeToken } from "../../lib/base/token.ts";
import { lineOfText } from "../../lib/base/value_schemas.ts";
import { emptyState, formatTime, table, verbatim } from "../../lib/html/elements.ts";
import { otherErrors, textField } from "../../lib/html/forms.ts";
import type { Page } from "../../lib/html/layout.ts";
import { type Markup, markup, plainAddress } from "../../lib/html/markup.ts";
import type { ParameterErrors } from "../../lib/http/request/errors.ts";
import type { Action, ActionResult } from "../../lib/http/request/route.ts";
import { defineAction, formTokenField, originOf, readForm } from "./action.ts";

/** A token outlives the session that made it, and the person may leave. */
const LIFETIME_DAYS = 90;
/** More are forgotten ones. */
const MAX_TOKENS = 10;

const NEW = v.object({ purpose: v.optional(lineOfText) });
const REVOCATION = v.object({
  token_id: v.pipe(
    v.string("missing"),
    v.regex(/^\d{1,10}$/, "expected the id of a token"),
    v.transform(Number),
    v.maxValue(2_147_483_647, "expected the id of a token"),
  ),
});

export const ownTokens = defineAction({
  path: "/tokens",
  methods: ["GET", "HEAD", "POST"],
  async act(action, sql) {
    const { editor, caller: { organizationId }, form, now } = action;
    if (!form) return { page: await tokensPage(action, sql) };
    const wrong = async (errors: ParameterErrors): Promise<ActionResult> => (
      { isWrong: true, page: await tokensPage(action, sql, { errors }) }
    );
    const read = readForm(form, NEW);
    if (read.errors) return await wrong(read.errors);
    const { purpose } = read.values;
    const label = v.safeParse(lineOfText, purpose ? `${editor.name}: ${purpose}` : editor.name);
    if (!label.success) return await wrong({ purpose: ["too long: expected a few words"] });
    const { plain, type, hash, prefix } = makeToken("api_token");
    const stored = await storeOwnToken(sql, {
      organizationId,
      person: editor.person,
      type,
      hash,
      tokenPrefix: prefix,
      label: label.output,
      createdAt: now,
      expiresAt: now + LIFETIME_DAYS * SECONDS_PER_DAY,
      most: MAX_TOKENS,
    }, originOf(editor, "token create"));
    if (!stored) {
      return await wrong({
        purpose: [`you have ${MAX_TOKENS} tokens: revoke one that is not used`],
      });
    }
    return { page: await tokensPage(action, sql, { plain }) };
  },
});

export const revocation = defineAction({
  path: "/tokens/revoke",
  methods: ["POST"],
  async act(action, sql) {
    const { editor, caller: { organizationId }, form, now, pathTo } = action;
    const read = readForm(form!, REVOCATION);
    const of = { organizationId, person: editor.person };
    const result = read.errors ? null : await revokeStoredToken(
      sql,
      { apiTokenId: read.values.token_id, revokedAt: now, of },
      originOf(editor, "token revoke"),
    );
    if (!result) {
      const errors = read.errors ?? { token_id: ["none of your tokens has this id"] };
      return { isWrong: true, page: await tokensPage(action, sql, { errors }) };
    }
    return { redirect: plainAddress(pathTo(["tokens"])) };
  },
});

/** The tokens of a person, after what was done: with the new token, or with what is wrong with a form. */
async function tokensPage(
  action: Action,
  sql: Database["sql"],
  { plain, errors }: { plain?: string; errors?: ParameterErrors } = {},
): Promise<Page> {
  const { editor, caller: { organizationId }, form, now, pathTo } = action;
  const tokens = await listOwnTokens(sql, { organizationId, person: editor.person, now });
  const content = markup`<h1>Your API tokens</h1>
<p>You are signed in as <b>${editor.name}</b>. A token reads what you see here, for the
<a href="${pathTo(["docs"])}">API</a> and for agents. It ends after ${LIFETIME_DAYS} days.</p>
${
    plain &&
    markup`<div class="band passed"><p>The new token. It is not shown again.</p>${
      verbatim(plain)
    }</div>`
  }
${
    tokens.length === 0 ? emptyState("You have no token.") : table(
      "Your tokens",
      [
        "Label|name",
        "Begins with",
        "Created|nowrap wide",
        "Ends|nowrap",
        "Last used|nowrap",
        "Revoke",
      ],
      tokens.map((token) => [
        markup`<bdi>${token.label}</bdi>`,
        markup`<code>${token.tokenPrefix}</code>`,
        formatTime(token.createdAt, action),
        formatTime(token.expiresAt!, action),
        token.lastUsedAt === null ? "never" : formatTime(token.lastUsedAt, action),
        revokeForm(token),
      ]),
    )
  }
<form class="acts" method="post" action="${pathTo(["tokens"])}">${formTokenField(editor)}${
    textField({
      name: "purpose",
      label: "What a new token is for",
      hint: "gate on my laptop",
      value: errors ? form?.get("purpose") ?? "" : "",
      errors: errors?.purpose,
    })
  }<button>Create a token</button>${errors && otherErrors(errors, ["purpose"])}</form>`;
  return { title: "Your API tokens", content };

  function revokeForm({ apiTokenId, label }: Token): Markup {
    return markup`<form method="post" action="${pathTo(["tokens", "revoke"])}">${
      formTokenField(editor)
    }<input type="hidden" name="token_id" value="${apiTokenId}"><button aria-label="${`Revoke ${label}`}">Revoke</button></form>`;
  }
}
