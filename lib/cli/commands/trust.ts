import { readFile } from "node:fs/promises";
import * as v from "valibot";
import { hasChange } from "../../../db/admin/changes.ts";
import {
  deleteTrustedIssuer,
  findTrustedIssuer,
  listTrustedIssuers,
  storeTrustedIssuer,
  type TrustedIssuer,
} from "../../../db/admin/trusts.ts";
import { writeTransaction } from "../../../db/write/transaction.ts";
import { errorMessage, valueOr } from "../../base/error.ts";
import { Failure, UsageError } from "../../base/failure.ts";
import { jsonRecord } from "../../base/json_record.ts";
import { quote } from "../../base/quote.ts";
import { readWith } from "../../base/read_with.ts";
import { lineOfText } from "../../base/value_schemas.ts";
import { PROGRAM } from "../../base/version.ts";
import { type AddCommand, command, group } from "../command.ts";
import { openOrganization, ORG, requireRepository } from "../organization.ts";
import { isLoopback } from "../settings.ts";
import { argument, location, option, repositoryName, rowId } from "../parameters.ts";

/** Issuers by the name of their service. */
const ISSUERS: Readonly<Record<string, string>> = {
  github: "https://token.actions.githubusercontent.com",
  gitlab: "https://gitlab.com",
};

const MAX_CHARACTERS = 2_000;
const MAX_KEYS_BYTES = 256 * 1024;

/** The address of an issuer as the claim `iss` has it, without a slash at its end. */
const issuer = readWith((text) => {
  const known = ISSUERS[text.toLowerCase()];
  if (known !== undefined) return known;
  const url = text.length > MAX_CHARACTERS ? null : URL.parse(text);
  // It is not quoted.
  if (url && url.username + url.password !== "") {
    throw new SyntaxError(
      "the address has a user or password: expected one without, such as https://gitlab.example.com",
    );
  }
  const rest = url && url.search + url.hash;
  if (!url || rest !== "" || !/^https?:$/.test(url.protocol)) {
    throw new SyntaxError(
      `invalid issuer ${quote(text)}: expected github, gitlab or an address such as ` +
        "https://gitlab.example.com",
    );
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    throw new SyntaxError(
      `${quote(text)} begins with http://: expected https://, or an address of this machine`,
    );
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
});

/** `a=b,c=d`. */
const claimList = readWith((text): Record<string, string> => {
  const claims: Record<string, string> = {};
  for (const part of text.split(",")) {
    const [, name = "", value = ""] = /^\s*([^=\s]+)=(.*?)\s*$/.exec(part) ?? [];
    if (name === "" || value === "" || /\p{Cc}/u.test(part)) {
      throw new SyntaxError(
        `invalid claim ${quote(part)}: expected NAME=VALUE, such as repository_owner=acme`,
      );
    }
    if (Object.hasOwn(claims, name)) {
      throw new SyntaxError(`claim ${quote(name)} is given twice: expected one value`);
    }
    claims[name] = value;
  }
  if (text.length > MAX_CHARACTERS) {
    throw new RangeError(`${text.length} characters: expected at most ${MAX_CHARACTERS}`);
  }
  return claims;
});

const addCommand = command({
  name: "add",
  summary: "Accept uploads with identity tokens of a CI service, without a secret; prints an id",
  example: "trust add --issuer github --claims repository_owner=acme",
  moreExamples: [
    "trust add --issuer gitlab --claims namespace_path=acme",
    "trust add --issuer https://ci.example --claims id=5 --repo a/b",
  ],
  details: [
    "A job may upload if the service signed its token (OpenID Connect) for PUBLIC_UPLOAD_URL of `up` or " +
    "`receive`, and the token has all these claims. It may upload to the repository that the token names: " +
    "`repository` as at GitHub, `project_path` as at GitLab, or the claim --repository-claim; otherwise to " +
    "--repo.",
    "The service is asked for its keys, which are cached. --keys is for a machine that cannot reach it: " +
    "repeat the command with another file when they change.",
  ],
  input: {
    org: ORG,
    issuer: option("<issuer>", "github, gitlab, or the address in the claim iss", issuer),
    claims: option("<list>", "what the token must claim, as NAME=VALUE,NAME=VALUE", claimList),
    repo: option(
      "<owner/name>",
      "only for this repository (default: all)",
      v.optional(repositoryName),
    ),
    repositoryClaim: option(
      "<name>",
      "claim that has OWNER/NAME or the address of the repository",
      v.optional(lineOfText),
    ),
    keys: option("<file>", "file with the issuer's JSON Web Key Set", v.optional(location)),
  },
  async run({ org, issuer, claims, repo, repositoryClaim, keys: file }, context) {
    const keys = file === undefined ? null : await readKeys(file);
    const { sql, organization } = await openOrganization(context, org);
    const repository = repo &&
      await requireRepository(sql, organization, repo, { isPreparation: true });
    const { trust, outcome } = await writeTransaction(sql, async (tx) => {
      const stored = await storeTrustedIssuer(tx, {
        organizationId: organization.organizationId,
        issuer,
        claims,
        repositoryId: repository?.repositoryId ?? null,
        repositoryClaim: repositoryClaim ?? null,
        keys,
        createdAt: context.now,
      });
      if (stored.outcome !== "unchanged") await context.logChange(tx, changeOf(stored.trust));
      return stored;
    });
    const { trustedIssuerId } = trust;
    if (outcome === "unchanged") {
      context.note(`${trustedIssuerId} already exists and is unchanged`);
    } else if (outcome === "changed") {
      context.note(`${trustedIssuerId} already exists: its keys are replaced`);
    }
    await context.print(String(trustedIssuerId), recordOf(trust));
  },
});

/** Reads a JSON Web Key Set of public keys. @throws {Failure} when it is none */
async function readKeys(file: string): Promise<{ keys: unknown[] }> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    throw new Failure(`--keys: ${errorMessage(error)}`);
  }
  if (text.length > MAX_KEYS_BYTES) {
    throw new Failure(`--keys: ${text.length} characters: expected at most ${MAX_KEYS_BYTES}`);
  }
  const read = v.safeParse(KEY_SET, valueOr(() => JSON.parse(text), null));
  if (!read.success) {
    throw new Failure(`--keys: ${quote(file)} is no JSON Web Key Set: expected {"keys":[...]}`);
  }
  const { keys } = read.output;
  // Never stored, and never trusted: with it anybody could sign.
  if (keys.some((key) => key.kty === "oct" || "d" in key || "k" in key)) {
    throw new UsageError("--keys: it has a private or secret key: expected public keys only");
  }
  if (!keys.some((key) => ["RSA", "EC"].includes(key.kty))) {
    throw new Failure("--keys: it has no key for RS256 or ES256");
  }
  return { keys };
}

const KEY_SET = v.object({ keys: v.array(v.looseObject({ kty: v.string() })) });

const listCommand = command({
  name: "list",
  summary: "List the issuers an organization trusts: id, issuer, claims, OWNER/NAME, " +
    "claim of the repository, whether it has keys of its own, created",
  example: "trust list --org acme",
  input: { org: ORG },
  async run({ org }, context) {
    const { sql, organization } = await openOrganization(context, org);
    const trusts = await listTrustedIssuers(sql, organization.organizationId);
    await context.printList(trusts.map(recordOf), [
      "trusted_issuer_id",
      "issuer",
      { title: "CLAIMS", cell: ({ claims }) => formatClaims(claims) },
      "repository",
      "repository_claim",
      "has_keys",
      "created_at",
    ]);
  },
});

const removeCommand = command({
  name: "remove",
  summary: "Trust an issuer no longer, from the next upload on; prints its id",
  example: "trust remove 1 --org acme",
  input: { trustedIssuerId: argument("id, as in `trust list`", rowId), org: ORG },
  async run({ trustedIssuerId, org }, context) {
    const { sql, organization } = await openOrganization(context, org);
    const id = { organizationId: organization.organizationId, trustedIssuerId };
    const trust = await writeTransaction(sql, async (tx) => {
      const trust = await findTrustedIssuer(tx, id);
      if (!trust) {
        const { organizationId } = organization;
        const change = { ...context.origin(), subject: String(trustedIssuerId), organizationId };
        if (await hasChange(tx, change)) return null;
        throw new Failure(
          `trusted issuer ${trustedIssuerId} is unknown: \`${PROGRAM} trust list --org NAME\` shows all`,
        );
      }
      await deleteTrustedIssuer(tx, id);
      await context.logChange(tx, changeOf(trust));
      return trust;
    });
    if (!trust) context.note(`trusted issuer ${trustedIssuerId} is already removed`);
    await context.print(
      String(trustedIssuerId),
      trust ? recordOf(trust) : { trusted_issuer_id: trustedIssuerId },
    );
  },
});

function recordOf({ organizationId: _, ...trust }: TrustedIssuer) {
  return jsonRecord(trust);
}

function formatClaims(claims: TrustedIssuer["claims"]): string {
  return Object.entries(claims).map(([name, value]) => `${name}=${value}`).join(",");
}

function changeOf({ organizationId, trustedIssuerId, ...trust }: TrustedIssuer) {
  const { issuer, claims, repository } = trust;
  return {
    organizationId,
    subject: String(trustedIssuerId),
    detail: { issuer, claims: formatClaims(claims), repository },
  };
}

export const trustCommands: AddCommand = group({
  name: "trust",
  summary: "Trust CI services, so that their jobs upload without a secret",
  example: "trust list --org acme",
  commands: [addCommand, listCommand, removeCommand],
});
