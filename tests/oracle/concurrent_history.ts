/**
 * Takes steps one after the other while requests run. What a request is answered must be true at one
 * moment between its begin and its end; which one is the service's choice.
 */
import { isDeepStrictEqual } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { type Action, actionsOf, type Circumstances } from "./actions.ts";
import { INCLUDES } from "./answers.ts";
import type { Meanwhile } from "./steps.ts";
import { isValidToken, type State } from "./model.ts";
import { Oracle } from "./oracle.ts";
import { type Answer, answerTo, pathOf, type Question, UNAUTHORIZED } from "./questions.ts";
import type { Organization } from "./service.ts";

/** Requests that one reader sends at most: what comes later sees nothing new. */
const MAX_REQUESTS = 10;

/**
 * The server that each reader asks, and how many requests it is ahead: several of one server ask the
 * same and something else at the same time, as its clients do. The second server is the one that
 * dawdles.
 */
const READERS = [
  { server: 0, ahead: 0 },
  { server: 1, ahead: 0 },
  { server: 2, ahead: 0 },
  { server: 0, ahead: 1 },
  { server: 1, ahead: 0 },
  { server: 1, ahead: 1 },
];

/** So long requests have a start before each action. */
const START_MS = 3;

/** What steps are taken with. */
export interface Taking extends Circumstances {
  organization: Organization;
  /** What was done so far. */
  actions: Action[];
  perform(action: Action): Promise<void>;
}

/** How things were, from the end of one action to that of the next. */
interface Phase {
  state: State;
  clock: number;
}

/** One request, by the first and the last phase that it may have seen. */
interface Seen {
  question: Question;
  path: string;
  token: number;
  server: number;
  answer: Answer;
  first: number;
  last: number;
}

/** An answer that was true at no time. */
export interface Wrong {
  asked: string;
  expected: unknown;
  actual: unknown;
}

/** Takes the steps; `asked` is how many answers were compared. */
export async function takeMeanwhile(
  step: Meanwhile,
  taking: Taking,
): Promise<{ asked: number; wrong: Wrong | null }> {
  const { organization, windowSeconds } = taking;
  const phases: Phase[] = [phaseOf(taking)];
  let begun = 0;
  let isDone = false;
  let pause = 0;
  let ended = Promise.withResolvers<void>();
  const wake = () => {
    ended.resolve();
    ended = Promise.withResolvers();
  };
  organization.setGate(async () => {
    const until = phases.length + step.pauses[pause++ % step.pauses.length]!;
    while (phases.length < until && !isDone) await ended.promise;
  });

  const read = async ({ server, ahead }: typeof READERS[number]) => {
    const seen: Seen[] = [];
    for (let number = 0; number < MAX_REQUESTS && !isDone; number++) {
      const first = phases.length - 1;
      const { state } = phases[first]!;
      const questions = questionsAbout(state);
      const question =
        questions[(step.first + Math.floor((number + ahead) / 2)) % questions.length]!;
      const path = pathOf(question, state);
      // Mostly the first, which stays valid; there are two others at least.
      const token = Math.max(0, (3 * ahead + number) % 5 - 2);
      const answer = await organization.ask(question, {
        path,
        windowSeconds,
        token,
        through: server,
        isConditional: number % 2 === 1,
      });
      seen.push({ question, path, token, server, answer, first, last: begun });
    }
    return seen;
  };
  const readers = Promise.allSettled(READERS.map(read));

  const told: Action[] = [];
  taking.actions.push({ kind: "meanwhile", actions: told });
  try {
    for (const one of step.steps) {
      for (const action of actionsOf(one, taking)) {
        await sleep(START_MS);
        told.push(action);
        begun++;
        await taking.perform(action);
        phases.push(phaseOf(taking));
        wake();
      }
    }
  } finally {
    isDone = true;
    wake();
    await readers;
    organization.setGate(null);
  }
  let asked = 0;
  for (const outcome of await readers) {
    if (outcome.status === "rejected") throw outcome.reason;
    for (const seen of outcome.value) {
      asked++;
      const wrong = judge(seen, phases, windowSeconds);
      if (wrong) return { asked, wrong };
    }
  }
  return { asked, wrong: null };
}

function phaseOf({ state, clock }: Taking): Phase {
  return { state: structuredClone(state), clock };
}

function questionsAbout(state: State): Question[] {
  const repository = 0;
  const page = { sort: "disruptivenessRatio", terms: [], limit: 100, offset: 0 } as const;
  const inventory = { kind: "inventory", repository, scope: "all", page: { ...page, terms: [] } };
  const include = [...INCLUDES];
  return [
    { kind: "tests", repository, page: { ...page, terms: [] } },
    { kind: "submissions", repository, limit: 100, after: null },
    { ...inventory, include, view: { quarantine: "false" } } as Question,
    { ...inventory, include, view: {} } as Question,
    { kind: "flakiness badge", repository },
    { kind: "coverage badge", repository },
    ...state.tests.slice(0, 3).map((test): Question => ({ kind: "results", test })),
  ];
}

/** What is wrong with an answer, `null` when it was true at some time between its begin and end. */
function judge(seen: Seen, phases: readonly Phase[], windowSeconds: number): Wrong | null {
  const { question, path, token, server, answer, first, last } = seen;
  const possible = phases.slice(first, last + 1).reverse();
  const asked = phases[first]!.state;
  const expected: Answer[] = [];
  // Clock and data are looked at one after the other.
  for (const { state } of possible) {
    for (const { clock } of possible) {
      const right = isValidToken(state, token, clock)
        ? answerTo(question, asked, new Oracle(state, clock, windowSeconds))
        : UNAUTHORIZED;
      if (isDeepStrictEqual(answer, right)) return null;
      expected.push(right);
    }
  }
  // A token that was valid when it was looked at may have been revoked before the data was.
  const wasValid = possible.some(({ clock }) =>
    possible.some(({ state }) => isValidToken(state, token, clock))
  );
  if (wasValid) {
    for (const { state } of possible) {
      for (const { clock } of possible) {
        const right = answerTo(question, asked, new Oracle(state, clock, windowSeconds));
        if (isDeepStrictEqual(answer, right)) return null;
      }
    }
  }
  return {
    asked: `GET ${path} of server ${server} with token ${token}, ` +
      `from after action ${first} to action ${last} of the last ones that requests ran beside`,
    expected: expected[0],
    actual: answer,
  };
}
