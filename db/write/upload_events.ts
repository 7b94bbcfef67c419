// Tests: tests/lib/intake/store_upload_test.ts
/** The events of an upload: tests that become flaky, outages that begin and end. */
import { isMassFailure, type TestCounts } from "../../lib/analysis/test_counts.ts";
import { firstSubmissionId } from "../../lib/base/identity.ts";
import { compareTexts } from "../../lib/base/text.ts";
import { WINDOW_SECONDS } from "../../lib/base/time.ts";
import {
  becomesFlaky,
  OUTAGE_ENDS_AFTER_BUILDS,
  type WebhookEvent,
} from "../../lib/webhook/events.ts";
import { integersIn, type Queryable } from "../connection/sql.ts";
import { buildKeyOf, codeVersionOf, isMassFailureRow } from "../read/fragments.ts";
import { loadIdentities } from "../read/names_of_tests.ts";
import { loadOwnersOfTests } from "../read/owners.ts";
import { messageOf } from "../read/texts.ts";
import type { NewDisruption } from "./disruptions.ts";
import { addWebhookMessages, type EventRepository } from "./webhook_messages.ts";

/** A submission that was stored, in the transaction that has locked its repository. */
interface StoredRun {
  submissionId: string;
  recordedAt: number;
  counts: TestCounts;
  isOutage: boolean;
  newDisruptions: readonly NewDisruption[];
  job: string;
  environment: string;
  branch: string | null;
  buildUrl: string;
}

type Repository = EventRepository & { idPrefix: number };

/**
 * Adds the events of an upload to the outbox.
 *
 * @param options.events that are subscribed to, from {@linkcode loadSubscribedEvents}
 */
export async function addUploadEvents(
  tx: Queryable,
  repository: Repository,
  { events, now, ...run }: StoredRun & { events: ReadonlySet<WebhookEvent>; now: number },
): Promise<void> {
  // Nothing in a run that is uploaded late is news.
  if (run.recordedAt < now - WINDOW_SECONDS) return;
  if (events.has("test.flaky")) await addFlakyTests(tx, repository, run, now);
  if (events.has("outage.started")) await addOutage(tx, repository, run, now);
}

type DisruptionRow = {
  testNo: number;
  submissionId: string;
  buildUrl: string;
  resultNo: number;
  codeVersion: string;
  fingerprint: string;
  message: string;
};

async function addFlakyTests(
  tx: Queryable,
  repository: Repository,
  { newDisruptions }: StoredRun,
  now: number,
): Promise<void> {
  if (newDisruptions.length === 0) return;
  const { repositoryId, idPrefix } = repository;
  const changed = new Set(newDisruptions.map(({ testNo }) => testNo));
  const rows = await tx<DisruptionRow[]>`
    select n.test_no as "testNo", encode(n.submission_id, 'hex') as "submissionId",
      s.build_url as "buildUrl", n.result_no as "resultNo", ${codeVersionOf(tx)} as "codeVersion",
      encode(n.fingerprint, 'hex') as fingerprint, ${messageOf(tx, repositoryId)} as message
    from negative_result n
    join submission s on s.repository_id = n.repository_id and s.submission_id = n.submission_id
    where n.repository_id = ${repositoryId} and n.is_disruption
      and n.test_no = any(${integersIn(tx, changed)})
      and n.submission_id >= decode(${firstSubmissionId(now - WINDOW_SECONDS)}, 'hex')
      and (${isMassFailureRow(tx)}) is not true
    order by n.submission_id, n.result_no`;
  const keyOf = (one: NewDisruption) => `${one.submissionId} ${one.resultNo}`;
  const isNew = new Set(newDisruptions.map(keyOf));
  const flaky = new Map(
    [...Map.groupBy(rows, ({ testNo }) => testNo)].filter(([, disruptions]) =>
      becomesFlaky(disruptions.map((one) => ({ ...one, isNew: isNew.has(keyOf(one)) })))
    ),
  );
  if (flaky.size === 0) return;
  const testNos = [...flaky.keys()];
  const owners = await loadOwnersOfTests(tx, { repositoryId, testNos });
  const identities = await loadIdentities(tx, { repositoryId, idPrefix, testNos });
  const inOrder = [...identities].sort(([, a], [, b]) => compareTexts(a.id, b.id));
  const found = inOrder.map(([testNo, identity]) => {
    const disruptions = flaky.get(testNo)!;
    return {
      latest: disruptions.findLast((one) => isNew.has(keyOf(one)))!,
      item: {
        ...identity,
        owners: owners.get(testNo) ?? [],
        disruptions: disruptions.length,
      },
    };
  });
  for (const [fingerprint, group] of Map.groupBy(found, ({ latest }) => latest.fingerprint)) {
    const { message, submissionId, buildUrl } = group[0]!.latest;
    await addWebhookMessages(tx, repository, {
      event: "test.flaky",
      cause: fingerprint,
      at: now,
      shared: { message, submission_id: submissionId, build_url: buildUrl },
      items: group.map(({ item }) => item),
    });
  }
}

/**
 * An outage is one of a job in an environment: others may be healthy meanwhile. A mass failure of one change
 * alone begins none, and ends none.
 */
async function addOutage(
  tx: Queryable,
  repository: Repository,
  { submissionId, counts, isOutage, job, environment, branch, buildUrl }: StoredRun,
  now: number,
): Promise<void> {
  const { repositoryId } = repository;
  const id = JSON.stringify([repositoryId, job, environment]);
  let event: WebhookEvent = "outage.started";
  if (!isOutage) {
    if (isMassFailure(counts) || !await isAnnounced(tx, repository, id)) return;
    const latest = await tx<{ hasMassFailure: boolean }[]>`
      select bool_or(r.is_mass_failure) as "hasMassFailure" from (
        select ${buildKeyOf(tx)} as build, ${isMassFailureRow(tx)} is true as is_mass_failure,
          row_number() over (order by s.submission_id desc) as place
        from submission s
        where s.repository_id = ${repositoryId} and s.status = 'processed' and s.job = ${job}
          and s.environment = ${environment}
          and s.submission_id >= decode(${firstSubmissionId(now - WINDOW_SECONDS)}, 'hex')
      ) r
      group by r.build
      order by min(r.place) limit ${OUTAGE_ENDS_AFTER_BUILDS}`;
    if (latest.length < OUTAGE_ENDS_AFTER_BUILDS || latest.some((one) => one.hasMassFailure)) {
      return;
    }
    event = "outage.ended";
  }
  await addWebhookMessages(tx, repository, {
    event,
    cause: id,
    at: now,
    items: [{
      id,
      owners: [],
      job,
      environment,
      branch: branch ?? "",
      submission_id: submissionId,
      build_url: buildUrl,
      ran_test_count: counts.ran,
      failed_test_count: counts.failed,
    }],
  });
}

/** Whether the beginning of an outage was announced, and not its end. */
async function isAnnounced(
  tx: Queryable,
  { organizationId }: Repository,
  id: string,
): Promise<boolean> {
  const [row] = await tx<{ isAnnounced: boolean }[]>`
    select exists (
      select from webhook_delivery d
      where d.organization_id = ${organizationId} and d.subjects @> array[${id}]
        and d.event = 'outage.started' and not exists (
          select from webhook_delivery e
          where e.organization_id = d.organization_id and e.webhook_id = d.webhook_id
            and e.delivery_id > d.delivery_id and e.subjects @> array[${id}]
            and e.event = 'outage.ended')) as "isAnnounced"`;
  return row!.isAnnounced;
}
