/** Uploads with identity tokens of CI services. */
import { after, afterEach, before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { exportSPKI, SignJWT } from "jose";
import { createLog } from "../../../../lib/base/log.ts";
import { describeWithDatabase } from "../../../database.ts";
import { commandLine, NOON } from "../../cli/run_in_process.ts";
import { archiveOf, reportOf } from "../../report/archive/make_archive.ts";
import { AUDIENCE, GITHUB_CLAIMS, type Issuer, makeKey, sign, startIssuer } from "./issuer.ts";
import { addOrganization, addToken, createReceiver, formOf, type Receiver } from "./receive.ts";

const SHA = GITHUB_CLAIMS.sha;
const OTHER_SHA = "f".repeat(40);
const TREE = "e".repeat(40);
const JUNIT = reportOf("adds");

describeWithDatabase("an upload with an identity token", (database) => {
  const cli = commandLine(database);
  let issuer: Issuer;
  let receiver: Receiver;
  let lines: string[] = [];
  const tokens: string[] = [];
  const log = createLog({ write: (line) => void lines.push(line), now: () => NOON });

  before(async () => {
    issuer = await startIssuer();
    for (const name of ["acme", "globex"]) await addOrganization(database().sql, name);
    await trust("--claims repository_owner=acme");
    receiver = await createReceiver(database().sql, { publicUrl: AUDIENCE, log });
  });
  after(async () => {
    await receiver.close();
    await issuer.close();
  });
  afterEach(async () => {
    issuer.respond = null;
    // Nothing of a token is in the log, not even of one that was refused.
    for (const line of lines) {
      for (const token of tokens) {
        for (const part of token.split(".")) {
          if (part !== "") assert.ok(!line.includes(part), line);
        }
      }
    }
    lines = [];
    await clear();
  });

  /** Removes what was stored. */
  async function clear(): Promise<void> {
    for (const path of await receiver.files()) await Deno.remove(join(receiver.folder, path));
  }

  /** Trusts the issuer; returns the id. */
  async function trust(options: string, org = "acme"): Promise<string> {
    const line = `trust add --org ${org} --issuer ${issuer.url} ${options}`;
    const { code, stdout, stderr } = await cli(line);
    assert.equal(code, 0, stderr);
    return stdout.trim();
  }

  async function untrust(id: string, org = "acme"): Promise<void> {
    const { code, stderr } = await cli(`trust remove ${id} --org ${org}`);
    assert.equal(code, 0, stderr);
  }

  function send(
    token: string,
    { path = "/upload", ...init }: RequestInit & { path?: string } = {},
  ) {
    tokens.push(token);
    return receiver.send(path, token, { body: JUNIT, ...init });
  }

  async function refused(response: Response, status: number, message: RegExp): Promise<void> {
    const text = await response.text();
    assert.equal(response.status, status, text);
    assert.match(JSON.parse(text).message, message);
    assert.deepEqual(await receiver.files(), []);
  }

  /** The facts of an accepted upload, as `watch` stores them, and its notes. */
  async function stored(response: Response) {
    const text = await response.text();
    assert.equal(response.status, 202, text);
    const { key, notes = [] } = JSON.parse(text);
    await receiver.age();
    const { code, stdout, stderr } = await cli(["watch", receiver.folder, "--once"], {
      now: () => NOON + 3_600,
    });
    assert.equal(code, 0, stdout + stderr);
    const [row] = await database().sql`
      select o.name as organization, r.owner || '/' || r.name as repository, commit_oid as commit,
        tree_oid as tree, branch, workflow, attempt, build_url as "buildUrl"
      from submission s join repository r using (repository_id)
      join organization o using (organization_id)
      where s.key = ${key}`;
    assert.ok(row);
    return { ...row, notes };
  }

  it("needs no secret, no path and no parameter", async () => {
    const response = await send(await issuer.token(GITHUB_CLAIMS));
    assert.deepEqual(await stored(response), {
      organization: "acme",
      repository: "acme/shop",
      commit: SHA,
      tree: null,
      branch: "feature",
      workflow: "",
      attempt: "2",
      buildUrl: "",
      notes: [],
    });
    assert.match(lines.at(-1)!, /status=202 .*token_id=null .*trusted_issuer_id=\d+/);
  });

  it("has the workflow of the token where the client names none, unless another one has tested", async () => {
    let reports = 0;
    const workflowOf = async (claims: Record<string, string>, ci = "") => {
      const body = formOf([["report", "a.xml", reportOf(`test ${++reports}`)], ["ci", "ci", ci]]);
      const token = await issuer.token({ ...GITHUB_CLAIMS, ...claims });
      const path = `/upload?commit=${SHA}`;
      const facts = await stored(await send(token, { path, body }));
      return (facts as { workflow?: string }).workflow;
    };
    assert.equal(await workflowOf({ workflow: "ASan" }), "ASan");
    assert.equal(await workflowOf({ workflow: "x".repeat(101) }), "x".repeat(100));
    assert.equal(await workflowOf({ workflow: "Upload", event_name: "workflow_run" }), "");
    const ci = "GITHUB_ACTIONS=true\nGITHUB_WORKFLOW=CI\n";
    assert.equal(await workflowOf({ workflow: "ASan" }, ci), "CI");
  });

  it("may name its repository in the path, in any case", async () => {
    const token = await issuer.token(GITHUB_CLAIMS);
    const response = await send(token, { path: "/upload/ACME/Shop" });
    assert.equal(response.status, 202, await response.text());
    await clear();
    for (const path of ["/upload/acme/web", "/upload/other/shop"]) {
      await refused(await send(token, { path }), 403, /"acme\/shop".* "(acme\/web|other\/shop)"/);
    }
  });

  it("that names another repository in a parameter is refused with both names", async () => {
    const token = await issuer.token(GITHUB_CLAIMS);
    const response = await send(token, { path: "/upload?repository=acme/web" });
    assert.equal(response.status, 400);
    assert.match(await response.text(), /acme\/web.*acme\/shop/);
    assert.deepEqual(await receiver.files(), []);
  });

  it("is stored by the claims, whatever the client says", async () => {
    const path = `/upload?commit=${OTHER_SHA}&tree=${TREE}&branch=main&attempt=7` +
      "&build_url=https://ci.example/runs/12";
    const response = await send(await issuer.token(GITHUB_CLAIMS), { path });
    const { notes, ...facts } = await stored(response);
    assert.deepEqual(facts, {
      organization: "acme",
      repository: "acme/shop",
      commit: SHA,
      tree: null,
      branch: "feature",
      workflow: "",
      attempt: "2",
      buildUrl: "",
    });
    assert.deepEqual(notes, [
      `took the commit of the token, "${SHA}", in place of "${OTHER_SHA}"`,
      'took the branch of the token, "feature", in place of "main"',
      'took the attempt of the token, "2", in place of "7"',
      'took the build URL of the token, none, in place of "https://ci.example/runs/12"',
    ]);
  });

  it("keeps what the client says beyond the claims", async () => {
    const path = `/upload?commit=${SHA.slice(0, 12)}&tree=${TREE}` +
      "&build_url=https://git.example/acme/shop/actions/runs/4711";
    const { tree, commit, buildUrl, notes } = await stored(
      await send(await issuer.token(GITHUB_CLAIMS), { path }),
    ) as Record<string, unknown>;
    assert.deepEqual([commit, tree, buildUrl, notes], [
      SHA,
      TREE,
      "https://git.example/acme/shop/actions/runs/4711",
      [],
    ]);
  });

  it("is stored by the claims with a form and an archive that say something else, too", async () => {
    const ci = `GITHUB_ACTIONS=true\nGITHUB_REPOSITORY=acme/web\nGITHUB_SHA=${OTHER_SHA}\n` +
      "GITHUB_REF=refs/heads/main\nGITHUB_RUN_ATTEMPT=9\n";
    const form = formOf([["report", "a.xml", reportOf("form")]]);
    form.append("ci", ci);
    const archive = await archiveOf([
      ["test-results/a.xml", reportOf("archive")],
      [
        "buildpulse.yml",
        `version: "1.0"\ngit:\n  commit: ${OTHER_SHA}\n  tree: ${TREE}\n  branch: main\n` +
        "  repository: acme/web\n",
      ],
    ]);
    for (const body of [form, archive]) {
      const { repository, commit, tree, branch, attempt } = await stored(
        await send(await issuer.token(GITHUB_CLAIMS), { body }),
      ) as Record<string, unknown>;
      assert.deepEqual([repository, commit, tree, branch, attempt], [
        "acme/shop",
        SHA,
        null,
        "feature",
        "2",
      ]);
    }
  });

  it("is of no merge queue but that of its branch", async () => {
    const ofQueue = "gh-readonly-queue/main/pr-5-0123456";
    const ofBuildkite = "BUILDKITE=true\nBUILDKITE_REPO=git@github.com:acme/shop.git\n" +
      `BUILDKITE_COMMIT=${OTHER_SHA}\nBUILDKITE_BRANCH=feature\n` +
      "BUILDKITE_MERGE_QUEUE_BASE_BRANCH=main\n";
    const ofTrain = `GITLAB_CI=true\nCI_COMMIT_SHA=${OTHER_SHA}\n` +
      "CI_MERGE_REQUEST_EVENT_TYPE=merge_train\nCI_MERGE_REQUEST_TARGET_BRANCH_NAME=main\n";
    const workflow_run = { event_name: "workflow_run", ref: "refs/heads/main" };
    const id = await trust("--claims namespace_path=acme/group");
    const gitLab = {
      namespace_path: "acme/group",
      project_path: "acme/group/api",
      sha: OTHER_SHA,
      ref: "feature",
      ref_path: "refs/heads/feature",
    };
    const mergeRequest = { ...gitLab, pipeline_source: "merge_request_event" };
    for (
      const [name, claims, ci, expected] of [
        ["a branch", GITHUB_CLAIMS, ofBuildkite, ""],
        ["workflow_run", { ...GITHUB_CLAIMS, ...workflow_run }, ofBuildkite, ""],
        [
          "a queue",
          { ...GITHUB_CLAIMS, event_name: "merge_group", ref: `refs/heads/${ofQueue}` },
          ofBuildkite,
          "main",
        ],
        ["a branch at GitLab", gitLab, ofTrain, ""],
        [
          "a merge request",
          { ...mergeRequest, ref_path: "refs/merge-requests/4/head" },
          ofTrain,
          "",
        ],
        ["a train", { ...mergeRequest, ref_path: "refs/merge-requests/4/train" }, ofTrain, "main"],
      ] as const
    ) {
      for (const branch of ["", ofQueue]) {
        const body = formOf([["report", "a.xml", reportOf(`${name} ${branch}`)]]);
        body.append("ci", ci);
        const path = `/upload?commit=${OTHER_SHA}&branch=${branch}`;
        const response = await send(await issuer.token(claims), { path, body });
        const { key } = await response.clone().json();
        await stored(response);
        const [row] = await database().sql<{ queueBase: string }[]>`
          select queue_base as "queueBase" from submission where key = ${key}`;
        assert.equal(row!.queueBase, expected, `${name} ${branch}`);
      }
    }
    await untrust(id);
  });

  it("of workflow_run does not say which branch is the default branch", async () => {
    const body = formOf([["report", "a.xml", reportOf("default")]]);
    body.append("ci", `GITHUB_ACTIONS=true\nEVENT_REPOSITORY_DEFAULT_BRANCH="evil"\n`);
    const workflow_run = { event_name: "workflow_run", ref: "refs/heads/main" };
    const token = await issuer.token({ ...GITHUB_CLAIMS, ...workflow_run });
    await stored(await send(token, { path: `/upload?commit=${OTHER_SHA}`, body }));
    const repositories = await database().sql`
      select name from repository where default_branch = 'evil'`;
    assert.deepEqual([...repositories], []);
  });

  it("of a pull request is never of the base branch, whatever its branch is called", async () => {
    const id = await trust("--claims namespace_path=acme/group");
    const ofGitHub = { ref: "refs/pull/6/merge", head_ref: "main", base_ref: "release" };
    const ofGitLab = {
      namespace_path: "acme/group",
      project_path: "acme/group/api",
      sha: OTHER_SHA,
      ref: "main",
      ref_path: "refs/merge-requests/6/head",
      pipeline_source: "merge_request_event",
      pipeline_id: "89",
    };
    for (
      const [onMain, claims] of [
        [{ ...GITHUB_CLAIMS, ref: "refs/heads/main" }, { ...GITHUB_CLAIMS, ...ofGitHub }],
        [{ ...ofGitLab, ref_path: "refs/heads/main", pipeline_source: "push" }, ofGitLab],
      ]
    ) {
      await stored(await send(await issuer.token(onMain!), { body: reportOf("on main") }));
      for (const ci of ["", 'MATRIX={"node":"22"}\n']) {
        const body = formOf([["report", "a.xml", reportOf(`of a pull ${ci.length}`)]]);
        body.append("ci", ci);
        const response = await send(await issuer.token(claims!), { body });
        const { key } = await response.clone().json();
        const { branch } = await stored(response) as Record<string, unknown>;
        assert.equal(branch, null);
        const [row] = await database().sql`
        select pull_number::float8 as number from submission where key = ${key}`;
        assert.equal(row!.number, 6);
      }
    }
    await untrust(id);
  });

  it("of workflow_run is of the client's commit, but never of the base branch", async () => {
    const claims = { ...GITHUB_CLAIMS, event_name: "workflow_run", ref: "refs/heads/main" };
    await cli("repo set acme/shop --org acme --base trunk");
    for (
      const [given, expected] of [
        ["someone:main", "someone:main"],
        ["main", null],
        ["trunk", null],
        ["feature", "feature"],
      ] as const
    ) {
      const path = `/upload?commit=${OTHER_SHA}&branch=${given}`;
      const body = reportOf(given);
      const response = await send(await issuer.token(claims), { path, body });
      const { commit, branch } = await stored(response) as Record<string, unknown>;
      assert.deepEqual([commit, branch], [OTHER_SHA, expected]);
    }
    await cli("repo set acme/shop --org acme --base=");
  });

  it("of GitLab is understood", async () => {
    const id = await trust("--claims namespace_path=acme/group");
    const token = await issuer.token({
      namespace_path: "acme/group",
      project_path: "acme/group/api",
      sha: OTHER_SHA,
      ref: "topic",
      ref_type: "branch",
      ref_path: "refs/heads/topic",
      pipeline_id: "88",
    });
    const facts = await stored(await send(token));
    assert.deepEqual(facts, {
      organization: "acme",
      repository: "acme/group/api",
      commit: OTHER_SHA,
      tree: null,
      branch: "topic",
      workflow: "",
      attempt: "",
      buildUrl: `${issuer.url}/acme/group/api/-/pipelines/88`,
      notes: [],
    });
    await untrust(id);
  });

  it("of any other service is of the repository of the claim that is named", async () => {
    const id = await trust("--claims org=acme --repository-claim oidc.circleci.com/vcs-origin");
    const token = await issuer.token({
      org: "acme",
      "oidc.circleci.com/vcs-origin": "github.com/acme/circle",
    });
    const path = `/upload?commit=${OTHER_SHA}&branch=main`;
    const { repository, branch } = await stored(await send(token, { path })) as Record<
      string,
      unknown
    >;
    assert.deepEqual([repository, branch], ["acme/circle", "main"]);
    await untrust(id);
  });

  it("that names no repository is of the only one that is trusted", async () => {
    const nameless = await trust("--claims pipeline=9");
    const token = await issuer.token({ pipeline: 9 });
    const path = `/upload?commit=${OTHER_SHA}`;
    await refused(await send(token, { path }), 401, /names no repository/);
    const id = await trust("--claims pipeline=9 --repo acme/shop");
    const { repository } = await stored(await send(token, { path })) as Record<string, unknown>;
    assert.equal(repository, "acme/shop");
    await untrust(id);
    await untrust(nameless);
  });

  it("is refused once its issuer is no longer trusted, and belongs to its organization", async () => {
    const id = await trust("--claims repository_owner=globex", "globex");
    const token = await issuer.token({
      ...GITHUB_CLAIMS,
      repository: "globex/x",
      repository_owner: "globex",
    });
    const { organization } = await stored(await send(token)) as Record<string, unknown>;
    assert.equal(organization, "globex");
    const { code, stderr } = await cli(`trust remove ${id} --org acme`);
    assert.equal(code, 1);
    assert.match(stderr, /is unknown/);
    await untrust(id, "globex");
    await clear();
    await refused(await send(token), 401, /does not have the claims that are trusted/);
  });

  it("is refused for another repository than the trusted one", async () => {
    const only = await startIssuer("/only");
    const line = `trust add --org acme --issuer ${only.url} --claims repository_owner=acme ` +
      "--repo acme/shop";
    const { stdout } = await cli(line);
    const right = await only.token(GITHUB_CLAIMS);
    assert.equal((await send(right)).status, 202);
    await clear();
    const wrong = await only.token({ ...GITHUB_CLAIMS, repository: "acme/web" });
    await refused(await send(wrong), 401, /of "acme\/web" does not have the claims/);
    await untrust(stdout.trim());
    await only.close();
  });

  const attacks: Record<string, [token: () => Promise<string>, message: RegExp]> = {
    "for another door": [
      () => issuer.token({ ...GITHUB_CLAIMS, aud: "https://other.example" }),
      /is for "https:\/\/other\.example": expected the audience "https:\/\/reports\.example"$/,
    ],
    "for a door whose address begins like this one's": [
      () => issuer.token({ ...GITHUB_CLAIMS, aud: `${AUDIENCE}.evil.example` }),
      /expected the audience/,
    ],
    "that names no audience": [
      () => issuer.token({ ...GITHUB_CLAIMS, aud: undefined }),
      /is for nothing: expected the audience/,
    ],
    "that expired": [
      () => issuer.token({ ...GITHUB_CLAIMS, exp: NOON }),
      /expired at 2026-02-01T12:00:00Z$/,
    ],
    "that never expires": [
      () => issuer.token({ ...GITHUB_CLAIMS, exp: undefined }),
      /no valid claim "exp"/,
    ],
    "that is not valid yet": [
      () => issuer.token({ ...GITHUB_CLAIMS, nbf: NOON + 60 }),
      /is not valid before 2026-02-01T12:01:00Z$/,
    ],
    "of another owner": [
      () => issuer.token({ ...GITHUB_CLAIMS, repository: "evil/shop", repository_owner: "evil" }),
      /of "evil\/shop" does not have the claims that are trusted$/,
    ],
    "of an owner whose name only begins like the trusted one": [
      () => issuer.token({ ...GITHUB_CLAIMS, repository_owner: "acme-evil" }),
      /does not have the claims/,
    ],
    "whose claim is a list": [
      () => issuer.token({ ...GITHUB_CLAIMS, repository_owner: ["acme"] }),
      /does not have the claims/,
    ],
    "of an issuer that is not trusted": [
      () => issuer.token({ ...GITHUB_CLAIMS, iss: "https://evil.example" }),
      /issuer "https:\/\/evil\.example" is not trusted/,
    ],
    "of an issuer whose address begins like a trusted one's": [
      () => issuer.token({ ...GITHUB_CLAIMS, iss: `${issuer.url}/evil` }),
      /is not trusted/,
    ],
    "without a signature": [
      () => {
        const parts = [
          { alg: "none" },
          { iss: issuer.url, aud: AUDIENCE, exp: NOON + 300, ...GITHUB_CLAIMS },
        ].map((part) =>
          new TextEncoder().encode(JSON.stringify(part)).toBase64({
            alphabet: "base64url",
            omitPadding: true,
          })
        );
        return Promise.resolve(`${parts.join(".")}.`);
      },
      /is not signed with RS256 or ES256$/,
    ],
    "signed with the public key as if it were a secret": [
      async () => {
        const { jwk } = issuer.keys[0]!;
        const key = await crypto.subtle.importKey(
          "jwk",
          jwk as JsonWebKey,
          { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
          true,
          ["verify"],
        );
        const secret = new TextEncoder().encode(await exportSPKI(key));
        return await new SignJWT({
          iss: issuer.url,
          aud: AUDIENCE,
          exp: NOON + 300,
          ...GITHUB_CLAIMS,
        }).setProtectedHeader({ alg: "HS256", kid: "first" }).sign(secret);
      },
      /is not signed with RS256 or ES256$/,
    ],
    "signed with another algorithm of the same key": [
      async () => await issuer.token(GITHUB_CLAIMS, await makeKey("first", "PS256")),
      /is not signed with RS256 or ES256$/,
    ],
    "signed with a key that the issuer does not have": [
      async () => await issuer.token(GITHUB_CLAIMS, await makeKey("unknown")),
      /signed with a key that its issuer does not have$/,
    ],
    "signed with another key under the name of the issuer's": [
      async () => await issuer.token(GITHUB_CLAIMS, await makeKey("first")),
      /the signature of the identity token is wrong$/,
    ],
    "whose claims were changed": [
      async () => {
        const [header, , signature] = (await issuer.token(GITHUB_CLAIMS)).split(".");
        const [, other] = (await issuer.token({ ...GITHUB_CLAIMS, repository: "acme/x" })).split(
          ".",
        );
        return [header, other, signature].join(".");
      },
      /the signature of the identity token is wrong$/,
    ],
    "that brings its own key": [
      async () => {
        const { privateKey, jwk } = await makeKey("own");
        return await new SignJWT({
          iss: issuer.url,
          aud: AUDIENCE,
          exp: NOON + 300,
          ...GITHUB_CLAIMS,
        }).setProtectedHeader({ alg: "RS256", jwk, jku: `${issuer.url}/evil` }).sign(privateKey);
      },
      /the signature of the identity token is wrong$/,
    ],
    "that is no JSON": [() => Promise.resolve("aaaa.bbbb.cccc"), /^malformed identity token$/],
    "that is longer than any": [
      () => issuer.token({ ...GITHUB_CLAIMS, padding: "x".repeat(20_000) }),
      /^malformed identity token$/,
    ],
  };
  for (const [name, [token, message]] of Object.entries(attacks)) {
    it(`${name} is refused with the reason, and nothing is stored`, async () => {
      const forged = await token();
      await refused(await send(forged), 401, message);
      assert.ok(!issuer.requests.includes("/evil"));
      assert.match(lines.at(-1)!, /status=401 .*reason=/);
    });
  }

  it("opens nothing but uploads", async () => {
    const token = await issuer.token(GITHUB_CLAIMS);
    const response = await send(token, { path: "/quarantine/acme/shop", method: "POST", body: "" });
    await refused(response, 401, /^invalid token: expected a quarantine token/);
  });

  it("needs the address of the door", async () => {
    const other = await createReceiver(database().sql);
    const response = await other.send("/upload", await issuer.token(GITHUB_CLAIMS), {
      body: JUNIT,
    });
    await refused(response, 401, /need PUBLIC_UPLOAD_URL/);
    await other.close();
  });

  it("is accepted after its issuer changed its keys, and the old key is not", async () => {
    const [old] = issuer.keys;
    const fresh = await makeKey("second", "ES256");
    const token = await issuer.token(GITHUB_CLAIMS);
    assert.equal((await send(token)).status, 202);
    issuer.keys = [fresh];
    assert.equal((await send(await issuer.token(GITHUB_CLAIMS))).status, 202);
    await clear();
    await refused(await send(await sign(claimsOf(token), old!)), 401, /does not have$/);
    issuer.keys = [old!];
  });

  it("is checked with the keys of a file where the issuer cannot be asked", async () => {
    const key = await makeKey("file");
    const file = await Deno.makeTempFile();
    const write = (jwk: object) => Deno.writeTextFile(file, JSON.stringify({ keys: [jwk] }));
    await write(key.jwk);
    const add = `trust add --org acme --issuer https://unreachable.invalid/oidc/ --keys ${file} ` +
      "--claims repository_owner=acme";
    const { stdout: id, stderr } = await cli(add);
    assert.match(id, /^\d+\n$/, stderr);
    const token = await issuer.token(
      { ...GITHUB_CLAIMS, iss: "https://unreachable.invalid/oidc" },
      key,
    );
    assert.equal((await send(token)).status, 202);
    const changed = await makeKey("file");
    await write(changed.jwk);
    const again = await cli(add);
    assert.deepEqual([again.stdout, again.stderr], [
      id,
      `${id.trim()} already exists: its keys are replaced\n`,
    ]);
    await clear();
    await refused(await send(token), 401, /signature of the identity token is wrong/);
    await untrust(id.trim());
    await Deno.remove(file);
  });

  it("waits for its issuer while others are accepted, and is 503 if its keys cannot be had", async () => {
    const slow = await startIssuer("/slow");
    const { stdout: id } = await cli(
      `trust add --org acme --issuer ${slow.url} --claims repository_owner=acme`,
    );
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<Response>();
    slow.respond = () => {
      asked.resolve();
      return answer.promise;
    };
    const waiting = send(await slow.token(GITHUB_CLAIMS));
    await asked.promise;
    const [row] = await database().sql<{ id: number }[]>`
      select organization_id as id from organization where name = 'acme'`;
    const token = await addToken(database().sql, row!.id);
    const other = await receiver.send(`/upload/acme/shop?commit=${SHA}`, token, { body: JUNIT });
    assert.equal(other.status, 202, await other.text());
    await clear();
    answer.resolve(new Response("no", { status: 500 }));
    const response = await waiting;
    assert.equal(response.headers.get("retry-after"), "5");
    await refused(
      response,
      503,
      /^the keys of http:\/\/127\.0\.0\.1:\d+\/slow cannot be loaded now$/,
    );
    assert.match(
      lines.find((line) => line.includes("keys of an issuer"))!,
      /status 500, expected 200/,
    );
    await untrust(id.trim());
    await slow.close();
  });

  it("of an address that sends many wrong ones is still accepted", async () => {
    const wrong = await issuer.token({ ...GITHUB_CLAIMS, iss: "https://evil.example" });
    for (let count = 0; count < 22; count++) {
      await refused(await send(wrong), 401, /is not trusted/);
    }
    assert.equal((await send(await issuer.token(GITHUB_CLAIMS))).status, 202);
  });

  it("shares its statements with the wrong ones that its address sends", async () => {
    let statements = 0;
    const counted = new Proxy(database().sql, {
      apply(target, self, given) {
        if (String(given[0]).includes("trusts_of_issuer(")) statements++;
        return Reflect.apply(target, self, given);
      },
    });
    const busy = await createReceiver(counted, { publicUrl: AUDIENCE, log });
    try {
      const forged = await issuer.token(GITHUB_CLAIMS, await makeKey("first"));
      tokens.push(forged);
      const flood = (count: number) =>
        Promise.all(Array.from({ length: count }, async () => {
          const response = await busy.send("/upload", forged, { body: JUNIT });
          assert.equal(response.status, 401);
          await response.body?.cancel();
        }));
      for (let count = 0; count < 20; count++) await flood(1);
      statements = 0;
      const good = await issuer.token(GITHUB_CLAIMS);
      tokens.push(good);
      const sent = busy.send("/upload", good, { body: JUNIT });
      await flood(200);
      const response = await sent;
      assert.equal(response.status, 202, await response.text());
      // One each if nothing were shared; on a slow machine the flood takes several batches.
      assert.ok(statements < 100, String(statements));
    } finally {
      await busy.close();
    }
  });

  function claimsOf(token: string) {
    const payload = Uint8Array.fromBase64(token.split(".")[1]!, { alphabet: "base64url" });
    return JSON.parse(new TextDecoder().decode(payload));
  }
});
