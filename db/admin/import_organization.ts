// Tests: tests/lib/cli/commands/import_test.ts
/**
 * Stores the records of an export as a new organization, in one transaction: an import that fails or is killed
 * leaves nothing. Other clients of the embedded database wait meanwhile.
 */
import { caseKey, organizationUuid } from "../../lib/base/identity.ts";
import { Failure } from "../../lib/base/failure.ts";
import { quote } from "../../lib/base/quote.ts";
import { formatRepositoryName } from "../../lib/base/repository_name.ts";
import { formatTimestamp } from "../../lib/base/time.ts";
import { ExportError, type Line } from "../../lib/export/reader.ts";
import type { ExportRecord, RecordType } from "../../lib/export/records.ts";
import type { Database } from "../connection/connect.ts";
import type { Queryable } from "../connection/sql.ts";
import { TagLimitError } from "../write/test_tags.ts";
import { writeTransaction } from "../write/transaction.ts";
import { type Change, insertChange, insertChanges } from "./changes.ts";
import { ImportedRepository, storedPolicy } from "./import_repository.ts";

/** What an import has stored. */
export interface Imported {
  organizationId: number;
  name: string;
  repositoryCount: number;
  testCount: number;
  submissionCount: number;
  resultCount: number;
  tokenCount: number;
}

interface ImportOptions {
  /** Instead of its own. */
  name?: string | undefined;
  /** Who imports it and when, for the log of the organization. */
  origin: Pick<Change, "author" | "command" | "changedAt">;
}

/** Types that may follow the parts of any repository. */
const NEXT: readonly RecordType[] = ["repository", "token", "change"];

/** Types of records by the type before them. */
const FOLLOWING: Readonly<Record<RecordType | "nothing", readonly RecordType[]>> = {
  nothing: ["export"],
  export: ["organization"],
  organization: NEXT,
  repository: ["test", "coverage", "submission", "archive", ...NEXT],
  test: ["test", "submission", "coverage", "archive", ...NEXT],
  submission: ["result", "submission", "coverage", "archive", ...NEXT],
  result: ["result", "submission", "coverage", "archive", ...NEXT],
  coverage: ["coverage", "archive", ...NEXT],
  archive: ["archive", ...NEXT],
  token: ["token", "change"],
  change: ["change"],
  end: [],
};
const CHANGES_PER_BATCH = 1_000;

/** Imports the lines of an export, as its reader returns them. @throws {ExportError} when one cannot be imported */
export async function importOrganization(
  sql: Database["sql"],
  lines: AsyncIterable<Line[]>,
  { onProgress, ...options }: ImportOptions & { onProgress?(resultCount: number): void },
): Promise<{ imported: Imported; notes: string[] }> {
  return await writeTransaction(sql, async (tx) => {
    const run = new OrganizationImport(tx, options);
    for await (const batch of lines) {
      for (const line of batch) await run.take(line);
      onProgress?.(run.resultCount);
    }
    return { imported: await run.finish(), notes: run.notes };
  });
}

/** An import, to which the lines of an export are given. */
class OrganizationImport {
  readonly #tx: Queryable;
  readonly #options: ImportOptions;
  #header: ExportRecord<"export"> | undefined;
  #organizationId: number | undefined;
  /** The first line of what was not stored yet. */
  #pendingLine = 0;
  #lastType: RecordType | "nothing" = "nothing";
  #repository: ImportedRepository | undefined;
  /** Internal ids of repositories by their number. */
  readonly #repositoryIds = new Map<number, number>();
  readonly #repositoryKeys = new Set<string>();
  /** The first digits of test ids that differ from the export's. */
  readonly #newPrefixes = new Map<string, string>();
  readonly #tokenHashes = new Set<string>();
  readonly #tokens: ExportRecord<"token">[] = [];
  #changes: ExportRecord<"change">[] = [];
  readonly #imported: Imported;
  /** What differs from the export. */
  readonly notes: string[] = [];

  constructor(tx: Queryable, options: ImportOptions) {
    this.#tx = tx;
    this.#options = options;
    this.#imported = {
      organizationId: 0,
      name: options.name ?? "",
      repositoryCount: 0,
      testCount: 0,
      submissionCount: 0,
      resultCount: 0,
      tokenCount: 0,
    };
  }

  /** How many results are stored. */
  get resultCount(): number {
    return this.#imported.resultCount + (this.#repository?.counts.resultCount ?? 0);
  }

  /** Takes the next line. @throws {ExportError} when it cannot be imported */
  async take({ line, record }: Line): Promise<void> {
    try {
      await this.#take(line, record);
    } catch (error) {
      throw located(error, line);
    }
  }

  async #take(line: number, record: Line["record"]): Promise<void> {
    const { type } = record;
    if (!FOLLOWING[this.#lastType].includes(type)) {
      const expected = FOLLOWING[this.#lastType].join(", ");
      throw new SyntaxError(`found "${type}" after "${this.#lastType}", expected ${expected}`);
    }
    if (type !== "result" && (type === "submission" || type !== this.#lastType)) {
      await this.#flush();
    }
    this.#lastType = type;
    switch (type) {
      case "export":
        this.#header = record;
        return;
      case "organization":
        return await this.#create(record);
      case "repository":
        return await this.#createRepository(record);
      case "token":
        return this.#addToken(record);
      case "change":
        if (this.#changes.push(record) >= CHANGES_PER_BATCH) await this.#flush();
        return;
      case "result":
        return await this.#repository!.add(record);
      default:
        this.#pendingLine ||= line;
        await this.#repository!.add(record);
    }
  }

  async #create(record: ExportRecord<"organization">): Promise<void> {
    const { name = record.name } = this.#options;
    const organizationId = this.#organizationId = await insertOrganization(this.#tx, record, name);
    Object.assign(this.#imported, { organizationId, name });
    if (organizationId !== record.number) {
      const [before, here] = [record.number, organizationId].map(organizationUuid);
      this.notes.push(`its id in the API is ${here} here: another organization has ${before}`);
    }
  }

  async #createRepository(record: ExportRecord<"repository">): Promise<void> {
    this.#closeRepository();
    const name = formatRepositoryName(record);
    const { repository_id: number, test_id_prefix: prefix } = record;
    for (const key of [caseKey(name), `repository_id ${number}`, `test_id_prefix ${prefix}`]) {
      if (this.#repositoryKeys.has(key)) throw new SyntaxError(`a second repository with ${key}`);
      this.#repositoryKeys.add(key);
    }
    const repository = await ImportedRepository.create(this.#tx, this.#imported, record);
    this.#repository = repository;
    this.#repositoryIds.set(number, repository.repositoryId);
    if (repository.testIdPrefix === prefix) return;
    this.#newPrefixes.set(prefix, repository.testIdPrefix);
    this.notes.push(
      `the ids of the tests of ${name} begin with ${repository.testIdPrefix} here: another ` +
        `repository of this database has ${prefix}`,
    );
  }

  #closeRepository(): void {
    if (!this.#repository) return;
    const { testCount, submissionCount, resultCount } = this.#repository.counts;
    this.#imported.repositoryCount++;
    this.#imported.testCount += testCount;
    this.#imported.submissionCount += submissionCount;
    this.#imported.resultCount += resultCount;
    this.#repository = undefined;
  }

  #addToken(record: ExportRecord<"token">): void {
    const { token_type: type, repository_id: number } = record;
    const maySelect = type === "upload" || type === "quarantine";
    if (!maySelect && (type === "badge") !== (number !== null)) {
      throw new SyntaxError(`token_type "${type}" with repository_id ${number}`);
    }
    if (number !== null && !this.#repositoryIds.has(number)) {
      throw new SyntaxError(
        `repository_id ${number}: expected the id of a repository before this line`,
      );
    }
    // Not quoted: a hash does not belong in a log.
    if (this.#tokenHashes.has(record.hash)) throw new SyntaxError("a second token with its hash");
    this.#tokenHashes.add(record.hash);
    this.#tokens.push(record);
  }

  /** Stores what was added to the repository, and changes. */
  async #flush(): Promise<void> {
    const line = this.#pendingLine;
    this.#pendingLine = 0;
    try {
      await this.#repository?.flush();
    } catch (error) {
      throw located(error, line);
    }
    const changes = this.#changes;
    this.#changes = [];
    if (changes.length === 0) return;
    await insertChanges(this.#tx, {
      organizationId: this.#organizationId!,
      changes: changes.map(({ type: _, changed_at: changedAt, subject, ...change }) => (
        { ...change, changedAt, subject: this.#subjectHere(subject) }
      )),
    });
  }

  /** The id of a test whose repository got another prefix. */
  #subjectHere(subject: string): string {
    const [, prefix = "", rest] = /^([0-9a-f]{11})([0-9a-f]{13})$/.exec(subject) ?? [];
    const other = this.#newPrefixes.get(prefix);
    return other === undefined ? subject : `${other}${rest}`;
  }

  /** Stores tokens and the change, after the last line. */
  async finish(): Promise<Imported> {
    await this.#flush();
    this.#closeRepository();
    const organizationId = this.#organizationId;
    if (organizationId === undefined) throw new ExportError(2, "the file has no organization");
    const tx = this.#tx;
    const imported = this.#imported;
    for (const token of this.#tokens) {
      const repositoryId = this.#repositoryIds.get(token.repository_id ?? 0) ?? null;
      if (await insertToken(tx, { organizationId, repositoryId }, token)) imported.tokenCount++;
      else {
        this.notes.push(
          `the token ${token.prefix ?? token.label ?? token.token_type} stays with another ` +
            "organization of this database",
        );
      }
    }
    const { program, exported_at: exportedAt } = this.#header!;
    await insertChange(tx, {
      ...this.#options.origin,
      organizationId,
      subject: imported.name,
      detail: { program, exported_at: formatTimestamp(exportedAt) },
    });
    return imported;
  }
}

/** Creates the organization, with its number if that is free. @throws {Failure} when the name is taken */
async function insertOrganization(
  tx: Queryable,
  record: ExportRecord<"organization">,
  name: string,
): Promise<number> {
  const nameKey = caseKey(name);
  const [taken] = await tx<{ hasName: boolean }[]>`
    select name_key = ${nameKey} as "hasName" from organization
    where name_key = ${nameKey} or organization_id = ${record.number}
    order by 1 desc limit 1`;
  if (taken?.hasName) throw nameTaken(name);
  const [row] = await tx<{ organizationId: number }[]>`
    insert into organization (organization_id, name, name_key, purchase_unit_count,
      next_repository_number, quarantine_policy, created_at)
    overriding system value
    values (${taken ? tx`nextval(${SEQUENCE})` : tx`${record.number}::int`}, ${name}, ${nameKey},
      ${record.purchase_units}, ${record.next_repository_id},
      ${storedPolicy(record.quarantine_policy)}::text::jsonb, to_timestamp(${record.created_at}))
    on conflict do nothing
    returning organization_id as "organizationId"`;
  // Created at the same time.
  if (!row) throw nameTaken(name);
  const { organizationId } = row;
  // The next organization gets another number.
  await tx`
    select setval(${SEQUENCE}, ${organizationId}::int)
    from organization_organization_id_seq where last_value <= ${organizationId}::int`;
  return organizationId;
}

const SEQUENCE = "organization_organization_id_seq";

function nameTaken(name: string): Failure {
  return new Failure(
    `organization ${quote(name)} already exists: import it into another database, or under ` +
      "another name with --org NAME",
  );
}

/** The error with the line that caused it; others, as of the database, stay as they are. */
function located(error: unknown, line: number): unknown {
  const isOfLine = error instanceof SyntaxError || error instanceof RangeError ||
    error instanceof TagLimitError;
  return isOfLine ? new ExportError(line, error.message) : error;
}

/** Returns false when another organization has the token. */
async function insertToken(
  tx: Queryable,
  { organizationId, repositoryId }: { organizationId: number; repositoryId: number | null },
  token: ExportRecord<"token">,
): Promise<boolean> {
  const rows = await tx`
    insert into api_token (organization_id, type, repository_id, token_prefix, hash, label,
      created_at, expires_at, revoked_at, last_used_at)
    values (${organizationId}, ${token.token_type}, ${repositoryId}, ${token.prefix},
      ${token.hash}, ${token.label}, to_timestamp(${token.created_at}),
      to_timestamp(${token.expires_at}::float8), to_timestamp(${token.revoked_at}::float8),
      to_timestamp(${token.last_used_at}::float8))
    on conflict (hash) do nothing
    returning 1`;
  return rows.length > 0;
}
