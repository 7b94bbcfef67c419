import * as v from "valibot";
import { listTokens, revokeStoredToken, storeToken, type Token } from "../../../db/admin/tokens.ts";
import { makeToken } from "../../base/token.ts";
import { PROGRAM } from "../../base/version.ts";
import { jsonRecord } from "../../base/json_record.ts";
import { type AddCommand, command, group } from "../command.ts";
import {
  argument,
  flag,
  hidden,
  option,
  repositoryName,
  rowId,
  tokenHash,
  tokenPrefix,
} from "../parameters.ts";
import { duration, lineOfText, MAX_LIFETIME_SECONDS, timestamp } from "../../base/value_schemas.ts";
import { SECONDS_PER_DAY } from "../../base/time.ts";
import { Failure, UsageError } from "../../base/failure.ts";
import { openOrganization, ORG, requireRepository } from "../organization.ts";

const EXPIRES_AT = option(
  "<timestamp>",
  "when it expires: RFC 3339 with a time zone",
  v.optional(timestamp),
);

/**
 * A token that a person holds is forgotten some day. Those in CI and in a README are not: what they do would
 * stop without a word.
 */
const API_TOKEN_SECONDS = 365 * SECONDS_PER_DAY;

/** A duration in seconds; `null`: never. */
const lifetime = v.lazy((text) =>
  text === "never"
    ? v.pipe(v.literal("never"), v.transform(() => null))
    : duration({ max: MAX_LIFETIME_SECONDS })
);

/** The options that choose the type of a token. */
const FLAGS = ["legacy", "upload", "badge", "quarantine"] as const;

const createCommand = command({
  name: "create",
  summary: "Create a token and print it; it is not shown again",
  example: "token create --org acme --label dashboard --expires-in 90d",
  moreExamples: [
    "token create --org acme --upload",
    "token create --org acme --quarantine --repo acme/shop",
    "token create --org acme --badge --repo acme/shop",
  ],
  input: {
    org: ORG,
    label: option("<text>", "description for `token list`", v.optional(lineOfText)),
    expiresIn: option(
      "<duration>",
      "how long it is valid, such as 90d or 12h, or never (default: 365d for the API, never for other tokens)",
      v.optional(lifetime),
    ),
    expiresAt: EXPIRES_AT,
    legacy: hidden(flag("token in the earlier format; requires purchase units above 0")),
    upload: flag("token for uploads to `receive` or `up` only"),
    badge: flag("token for the badges of --repo only, for use in a README"),
    quarantine: flag("token for quarantining tests over HTTP at `receive` or `up` only"),
    repo: option(
      "<owner/name>",
      "the only repository of --upload or --quarantine (default: all), or of --badge",
      v.optional(repositoryName),
    ),
  },
  async run({ org, label, expiresIn, expiresAt, repo, ...flags }, context) {
    if (expiresIn !== undefined && expiresAt !== undefined) {
      throw new UsageError("--expires-in and --expires-at: expected only one of them");
    }
    const types = FLAGS.filter((name) => flags[name]);
    if (types.length > 1) {
      const names = FLAGS.map((name) => `--${name}`).join(", ");
      throw new UsageError(`${names}: expected only one of them`);
    }
    const [type = "api_token"] = types;
    if (type === "badge" && !repo) throw new UsageError("--badge: expected --repo as well");
    if (repo && (type === "api_token" || type === "legacy")) {
      throw new UsageError(
        "--repo: expected --upload, --quarantine or --badge; tokens for the API read all repositories",
      );
    }
    const { sql, organization } = await openOrganization(context, org);
    const repository = repo &&
      await requireRepository(sql, organization, repo, { isPreparation: true });
    const { plain, ...token } = makeToken(type);
    const seconds = expiresIn === undefined && type === "api_token"
      ? API_TOKEN_SECONDS
      : expiresIn ?? null;
    const stored = await storeToken(sql, {
      organizationId: organization.organizationId,
      ...repository && { repositoryId: repository.repositoryId },
      type,
      tokenPrefix: token.prefix,
      hash: token.hash,
      label: label ?? null,
      createdAt: context.now,
      expiresAt: expiresAt ?? (seconds === null ? null : context.now + seconds),
    }, context.origin());
    if (!stored?.isNew) throw new Error("a random token already exists");
    if (type === "legacy" && organization.purchaseUnitCount === 0) {
      context.note(
        `organization "${organization.name}" has 0 purchase units: the token is invalid until ` +
          `\`${PROGRAM} org set NAME --purchase-units N\``,
      );
    }
    await context.print(plain, { token: plain, ...jsonRecord(stored.token) });
  },
});

const importCommand = command({
  name: "import",
  summary: "Import a token of the earlier service by its hash and print its id",
  isHidden: true,
  example:
    "token import --org acme --hash 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  input: {
    org: ORG,
    hash: option(
      "<hash>",
      "SHA-256 of the token: 64 hex digits, or base64 for a legacy one",
      tokenHash,
    ),
    prefix: option(
      "<text>",
      "first characters of the token, for `token list`",
      v.optional(tokenPrefix),
    ),
    expiresAt: EXPIRES_AT,
  },
  async run({ org, hash, prefix, expiresAt }, context) {
    const { sql, organization } = await openOrganization(context, org);
    const stored = await storeToken(sql, {
      organizationId: organization.organizationId,
      type: hash.type,
      tokenPrefix: prefix ?? null,
      hash: hash.hash,
      label: null,
      createdAt: context.now,
      expiresAt: expiresAt ?? null,
    }, context.origin());
    // Does not tell which organization has it.
    if (!stored) throw new Failure("cannot import the token: its hash is already used");
    const { token } = stored;
    if (!stored.isNew) {
      const revoked = token.revokedAt === null ? "" : ", and it is revoked";
      context.note(`token ${token.apiTokenId} already exists and is unchanged${revoked}`);
    }
    await context.print(String(token.apiTokenId), jsonRecord(token));
  },
});

const listCommand = command({
  name: "list",
  summary:
    "List an organization's tokens: id, label, type, prefix, created, expires, revoked, state, last used, repository, what it opens",
  example: "token list --org acme",
  input: { org: ORG },
  async run({ org }, context) {
    const { sql, organization } = await openOrganization(context, org);
    const tokens = await listTokens(sql, organization.organizationId);
    await context.printList(
      tokens.map((token) => ({
        ...jsonRecord(token),
        state: stateOf(token, context.now, organization.purchaseUnitCount),
        opens: opens(token),
      })),
      [
        "api_token_id",
        "label",
        "type",
        "token_prefix",
        "created_at",
        "expires_at",
        "revoked_at",
        "state",
        "last_used_at",
        "repository",
        "opens",
      ],
      ["api_token_id", "label", "opens", "token_prefix", "state", "last_used_at"],
    );
  },
});

const revokeCommand = command({
  name: "revoke",
  summary: "Revoke a token and print its id",
  example: "token revoke 1",
  input: { tokenId: argument("id, as in `token list`", rowId) },
  async run({ tokenId }, context) {
    const { sql } = await context.openDatabase();
    const revocation = { apiTokenId: tokenId, revokedAt: context.now };
    const result = await revokeStoredToken(sql, revocation, context.origin());
    if (!result) {
      throw new Failure(
        `token ${tokenId} is unknown: \`${PROGRAM} token list --org NAME\` shows all`,
      );
    }
    if (!result.revoked) context.note(`token ${tokenId} is already revoked`);
    await context.print(String(tokenId), jsonRecord(result.token));
  },
});

/** `no_plan`: a legacy token of an organization without purchase units. */
function stateOf(token: Token, now: number, purchaseUnitCount: number): string {
  if (token.revokedAt !== null) return "revoked";
  if (token.expiresAt !== null && token.expiresAt <= now) return "expired";
  if (token.type === "legacy" && purchaseUnitCount === 0) return "no_plan";
  return "active";
}

/** What a token opens, in words. */
function opens({ type, repository }: Token): string {
  const scope = repository === null ? "" : ` of ${repository}`;
  switch (type) {
    case "upload":
      return repository === null ? "uploads" : `uploads to ${repository}`;
    case "quarantine":
      return `quarantine${scope}`;
    case "badge":
      return `badges${scope}`;
    default:
      return "API and pages";
  }
}

export const tokenCommands: AddCommand = group({
  name: "token",
  summary: "Create, import, list and revoke tokens",
  example: "token list --org acme",
  commands: [createCommand, importCommand, listCommand, revokeCommand],
});
