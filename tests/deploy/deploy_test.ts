import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { SETTINGS } from "../../lib/base/config.ts";
import { VERSION } from "../../lib/base/version.ts";
import { binaryName, TARGETS } from "../../tools/compile.ts";
import { INCLUDED_FILES, pack } from "../../tools/pack.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => Deno.readTextFile(join(ROOT, path));
const NAMES: readonly string[] = SETTINGS.map(({ name }) => name);

const ROLE_SCRIPTS = ["read_only_role.sql", "upload_role.sql", "writer_role.sql"];

/** The processes of deploy/compose.yaml, each with its user of the database. */
const PROCESSES: Record<string, { user: string; secret: string }> = {
  "test-analytics": { user: "test_analytics_reader", secret: "reader_url" },
  receive: { user: "test_analytics_receiver", secret: "receiver_url" },
  watch: { user: "test_analytics_writer", secret: "writer_url" },
  admin: { user: "test_analytics", secret: "database_url" },
};

describe("the sample configuration", () => {
  it("has settings that exist, with their defaults", async () => {
    const lines = (await read("deploy/test-analytics.env")).split("\n");
    const settings = lines.map((line) => /^(#?)([A-Z_]+)=(.*)$/.exec(line)).filter((row) => row);
    assert.ok(settings.length >= 6);
    for (const [, comment, name = "", value] of settings as RegExpExecArray[]) {
      const setting = SETTINGS.find((setting) => setting.name === name);
      assert.ok(setting, name);
      if (comment && setting.default) assert.equal(value, setting.default, name);
    }
  });
});

describe("the service units", () => {
  for (const [name, command] of [["test-analytics", "up"], ["test-analytics-watch", "watch"]]) {
    it(`run ${command} as their own user and have settings that exist`, async () => {
      const unit = await read(`deploy/${name}.service`);
      assert.match(unit, new RegExp(`^ExecStart=/usr/local/bin/test-analytics ${command}\\b`, "m"));
      assert.match(unit, /^User=test-analytics$/m);
      assert.match(unit, /^UMask=0077$/m);
      assert.match(unit, /^NoNewPrivileges=yes$/m);
      assert.match(unit, /^ProtectSystem=strict$/m);
      for (const [, name = ""] of unit.matchAll(/^#?Environment=(\w+)=/gm)) {
        assert.ok(NAMES.includes(name) || name.startsWith("OTEL_"), name);
      }
      // With a user of the database of its own.
      assert.ok(unit.includes(`\n#LoadCredential=database_url:/etc/test-analytics/${name}.url\n`));
    });
  }

  it("have a role of the database each, which a script creates", async () => {
    const guide = await read("docs/guides/systemd.md");
    const rows = guide.matchAll(
      /^\| `test-analytics-(\w+)` +\| `(test_analytics_\w+)` +\| `(deploy\/\w+\.sql)` +\|$/gm,
    );
    const roles = Array.from(rows, ([, part, role, script = ""]) => ({ part, role, script }));
    assert.deepEqual(roles.map(({ part }) => part), ["serve", "receive", "watch"]);
    for (const { role, script } of roles) assert.ok((await read(script)).includes(`'${role}'`));
  });
});

describe("the container", () => {
  it("does not run as root, has a health check and settings that exist", async () => {
    const text = await read("deploy/Dockerfile");
    assert.match(text, /^FROM \S+:nonroot$/m);
    assert.match(text, /^HEALTHCHECK .*"healthcheck"\]$/m);
    const [, settings = ""] = /^ENV (.*)$/m.exec(text) ?? [];
    for (const [name = ""] of settings.split(" ").map((pair) => pair.split("="))) {
      assert.ok(NAMES.includes(name), name);
    }
  });

  it("is built with the Deno version of the gate", async () => {
    const [, inGate] = /deno@([\d.]+)/.exec(await read(".ci/run")) ?? [];
    const [, inImage] = /^FROM denoland\/deno:([\d.]+)/m.exec(await read("deploy/Dockerfile")) ??
      [];
    const release = parse(await read(".github/workflows/release.yml"));
    const setup = release.jobs.binary.steps.find((step: { uses?: string }) =>
      step.uses?.startsWith("denoland/setup-deno")
    );
    assert.deepEqual([inImage, setup.with["deno-version"]], [inGate, inGate]);
  });

  it("has a compose file that declares all secrets and volumes", async () => {
    const { services, secrets, volumes } = parse(await read("deploy/compose.yaml"));
    const used = Object.values(services).flatMap((service) =>
      (service as { secrets?: string[] }).secrets ?? []
    );
    assert.deepEqual([...new Set(used)].sort(), Object.keys(secrets).sort());
    assert.deepEqual(Object.keys(volumes), ["database", "inbox"]);
    for (const name of Object.keys(PROCESSES)) {
      const { environment } = services[name];
      for (const name of Object.keys(environment)) assert.ok(NAMES.includes(name), name);
    }
  });

  it("has a compose file for all in one, with the ports of the program", async () => {
    const { services, volumes } = parse(await read("deploy/compose.up.yaml"));
    const { command, ports } = services["test-analytics"];
    assert.deepEqual(command, ["up"]);
    assert.deepEqual(ports, ["127.0.0.1:8000:8000", "127.0.0.1:8001:8001"]);
    assert.deepEqual(Object.keys(volumes), ["data"]);
  });

  it("runs each process with a role of its own, which the scripts create before the tables", async () => {
    const { services, secrets } = parse(await read("deploy/compose.yaml"));
    const guide = await read("docs/guides/docker.md");
    const [, commands = ""] = /^(make_secrets\(\) \{[^]*?)^```/m.exec(guide) ?? [];
    const folder = await Deno.makeTempDir();
    try {
      await Deno.mkdir(`${folder}/secrets`);
      const args = ["-euc", commands];
      assert.ok((await new Deno.Command("sh", { args, cwd: folder }).output()).success);
      for (const [name, { user, secret }] of Object.entries(PROCESSES)) {
        const { environment, secrets } = services[name];
        assert.deepEqual(secrets, [secret]);
        assert.equal(environment.DATABASE_URL_FILE, `/run/secrets/${secret}`);
        const url = new URL(await Deno.readTextFile(`${folder}/secrets/${secret}`));
        assert.deepEqual([url.username, url.host, url.pathname], [
          user,
          "database",
          "/test_analytics",
        ]);
        const password = secret.replace("_url", "_password");
        assert.equal(url.password, await Deno.readTextFile(`${folder}/secrets/${password}`));
      }
      const written = [...Deno.readDirSync(`${folder}/secrets`)].map((it) => `secrets/${it.name}`);
      const files = (Object.values(secrets) as { file: string }[]).map(({ file }) => file);
      assert.deepEqual(files.sort(), written.sort());
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
    const passwords = await read("deploy/role_passwords.sql");
    const scripts = await Promise.all(ROLE_SCRIPTS.map((name) => read(`deploy/${name}`)));
    for (const { user } of Object.values(PROCESSES)) {
      if (user === services.database.environment.POSTGRES_USER) continue;
      assert.ok(passwords.includes(`alter role ${user} password`), user);
      assert.ok(scripts.some((script) => script.includes(`'${user}'`)), user);
    }
  });

  it("has a version of PostgreSQL that is tested, and creates the roles", async () => {
    const { services } = parse(await read("deploy/compose.yaml"));
    const tested = /\| PostgreSQL servers +\| version (\d+)/.exec(await read("docs/tested.md"));
    assert.equal(services.database.image, `postgres:${tested?.[1]}`);
    const scripts = services.database.volumes
      .filter((volume: string) => volume.startsWith("./"))
      .map((volume: string) => volume.split(":")[0]);
    const names = [...ROLE_SCRIPTS, "role_passwords.sql"];
    assert.deepEqual(scripts, names.map((name) => `./${name}`));
    for (const script of scripts) await read(join("deploy", script));
  });
});

describe("the workflows", () => {
  it("pin every action by its commit, with the version next to it", async () => {
    const used: string[] = [];
    for (const folder of [".github/workflows", "deploy/ci", "docs/guides"]) {
      for await (const { name } of Deno.readDir(join(ROOT, folder))) {
        const text = await read(join(folder, name));
        used.push(
          ...Array.from(text.matchAll(/^\s*-?\s*uses:\s*(.+)$/gm), ([, uses = ""]) => uses),
        );
      }
    }
    // Not the actions of the repository, and of the organization of the guides.
    const others = used.filter((uses) => !/^(\.|acme)\//.test(uses));
    assert.ok(others.length >= 18);
    for (const uses of others) assert.match(uses, /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    // One commit for each action, so that an update cannot forget one.
    const pinned = new Set(others);
    assert.equal(new Set(others.map((uses) => uses.split("@")[0])).size, pinned.size);
  });
});

describe("a release", () => {
  it("is tested before it is packed, and packed before it is published", async () => {
    const { jobs } = parse(await read(".github/workflows/release.yml"));
    assert.deepEqual([jobs.binary.needs, jobs.package.needs], ["gate", "gate"]);
    for (const { needs } of [jobs.publish, jobs.image]) {
      assert.deepEqual(needs, ["binary", "package"]);
    }
    const commands = jobs.binary.steps.map((step: { run?: string }) => step.run ?? "");
    const at = (part: string) => commands.findIndex((run: string) => run.includes(part));
    assert.ok(
      at('task build "$PLATFORM') >= 0 && at('task build "$PLATFORM') < at("tools/smoke.ts"),
    );
    assert.ok(at("tools/smoke.ts") < at("tools/pack.ts"));
    const publishing = jobs.publish.steps.map((step: { run?: string }) => step.run ?? "").join(
      "\n",
    );
    for (const part of ["sha256sum", "--provenance", "gh release create"]) {
      assert.ok(publishing.includes(part), part);
    }
  });

  it("has an archive of the program, licences and sample files", async () => {
    const dist = await Deno.makeTempDir({ prefix: "test-analytics-dist-" });
    try {
      const platform = Object.keys(TARGETS)[0] ?? "";
      await Deno.writeTextFile(join(dist, binaryName(platform)), "#!/bin/sh\n");
      await Deno.writeTextFile(join(dist, "THIRD_PARTY_LICENSES.txt"), "");
      const archive = await pack(platform, dist);
      const name = `test-analytics-${VERSION}-${platform}`;
      assert.equal(basename(archive), `${name}.tar.gz`);
      const { stdout } = await new Deno.Command("tar", { args: ["-tvzf", archive] }).output();
      const listed = new TextDecoder().decode(stdout);
      assert.match(listed, new RegExp(`^-rwxr-xr-x .* ${name}/test-analytics$`, "m"));
      for (const path of [...INCLUDED_FILES, "THIRD_PARTY_LICENSES.txt"]) {
        assert.ok(listed.includes(`${name}/${basename(path)}\n`), path);
      }
    } finally {
      await Deno.remove(dist, { recursive: true });
    }
  });
});
