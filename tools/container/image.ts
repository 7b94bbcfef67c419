/** Builds the image of `deploy/Dockerfile`, as near to it as this machine allows. */
import { join } from "node:path";
import { build, BUNDLE_FILE } from "../build.ts";
import { ROOT } from "../packages.ts";
import { PERMISSIONS, V8_FLAGS } from "../permissions.ts";
import { output, run } from "./commands.ts";

/**
 * What the base image of `deploy/Dockerfile` (distroless `cc`) consists of. Debian 12, as that one, if
 * this machine is.
 */
const BASE_PACKAGES = [
  "base-files",
  "ca-certificates",
  "libc6",
  "libgcc-s1",
  "libssl3",
  "libstdc++6",
  "netbase",
  "tzdata",
];

/** The user of the base image. */
export const USER_ID = 65_532;

const PROGRAM = "/usr/local/bin/test-analytics";
const DENO = "/usr/local/bin/deno";
const BUNDLE = `/usr/local/lib/${BUNDLE_FILE}`;

/** How the program is started where there is no compiled binary: with the same permissions. */
const FROM_BUNDLE = [DENO, "run", "--quiet", "--no-config", V8_FLAGS, ...PERMISSIONS, BUNDLE];

/** What the image is made of. */
export interface ImageOptions {
  /** An image to pull; `null`: made of Debian's packages. */
  base: string | null;
  /** A binary of `deno task build`; `null`: the bundle, run by this Deno. */
  binary: string | null;
}

/**
 * The last stage of a Dockerfile, built of the files in the folder of the build instead of those of its
 * first stage. Without a binary, another line starts the program.
 */
export function lastStage(
  dockerfile: string,
  { base, hasBinary }: { base: string; hasBinary: boolean },
): string {
  const stages = dockerfile.split(/^(?=FROM )/m).slice(1);
  const last = stages.at(-1) ?? "";
  return last
    .replace(/^FROM .*$/m, `FROM ${base}`)
    .replaceAll(/^(COPY) --from=build((?: --\S+)*) (.*)$/gm, (_, copy, flags, files) => {
      const local = files.replaceAll("/source/dist/", "").replaceAll("/source/", "");
      const copied = hasBinary || !local.startsWith("test-analytics ")
        ? local
        : `deno ${DENO}\n${copy} ${BUNDLE_FILE} ${BUNDLE}`;
      return `${copy}${flags} ${copied.replace(/^\/volume\/ /, "volume/ ")}`;
    })
    .replaceAll(
      `"${PROGRAM}"`,
      (text) =>
        hasBinary ? text : FROM_BUNDLE.map((argument) => JSON.stringify(argument)).join(", "),
    );
}

/** Builds the image; `note` receives what differs from the Dockerfile. */
export async function buildImage(
  folder: string,
  { base, binary, buildah, note }: ImageOptions & {
    /** The program with the options of its storage. */
    buildah: string[];
    note(text: string): void;
  },
): Promise<string> {
  const context = join(folder, "context");
  await Deno.mkdir(join(context, "volume", "data"), { recursive: true, mode: 0o700 });
  await Deno.chmod(join(context, "volume"), 0o755);
  await build(context);
  await Deno.copyFile(join(ROOT, "LICENSE"), join(context, "LICENSE"));
  if (binary === null) {
    note(
      `the program is the bundle, run by Deno ${Deno.version.deno} with the permissions of the ` +
        "binary: the base of compiled binaries was not given (--binary)",
    );
    await Deno.copyFile(Deno.execPath(), join(context, "deno"));
  } else await Deno.copyFile(binary, join(context, "test-analytics"));
  if (base === null) {
    note(
      `the base is made of Debian's packages ${BASE_PACKAGES.join(", ")}: none was given (--base)`,
    );
    base = await buildBase(folder, buildah);
  }
  const file = join(folder, "Dockerfile");
  const dockerfile = await Deno.readTextFile(join(ROOT, "deploy", "Dockerfile"));
  await Deno.writeTextFile(file, lastStage(dockerfile, { base, hasBinary: binary !== null }));
  const image = "localhost/test-analytics";
  // The format of Docker: that of OCI has no health check.
  await run(
    buildah,
    ["build", "--isolation", "chroot", "--format", "docker", "--file", file]
      .concat("--tag", image, context),
  );
  return image;
}

/** Makes a base image: files of Debian's packages, certificates, and a user without rights. */
async function buildBase(folder: string, buildah: string[]): Promise<string> {
  const packages = join(folder, "packages");
  const root = join(folder, "base");
  await Deno.mkdir(packages);
  await Deno.mkdir(root);
  await run(["apt-get"], ["download", ...BASE_PACKAGES], { cwd: packages });
  for await (const { name } of Deno.readDir(packages)) {
    await run(["dpkg-deb"], ["--extract", join(packages, name), root]);
  }
  const certificates = join(root, "usr/share/ca-certificates/mozilla");
  const all = await Array.fromAsync(
    Deno.readDir(certificates),
    ({ name }) => Deno.readTextFile(join(certificates, name)),
  );
  await Deno.mkdir(join(root, "etc/ssl/certs"), { recursive: true });
  await Deno.writeTextFile(join(root, "etc/ssl/certs/ca-certificates.crt"), all.join(""));
  await Deno.writeTextFile(
    join(root, "etc/passwd"),
    `root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:${USER_ID}:${USER_ID}:nonroot:/home/nonroot:/sbin/nologin\n`,
  );
  await Deno.writeTextFile(
    join(root, "etc/group"),
    `root:x:0:\nnonroot:x:${USER_ID}:\n`,
  );
  await run(["tar"], ["--create", "--file", join(folder, "base.tar"), "--directory", root, "."]);
  const file = join(folder, "Base");
  await Deno.writeTextFile(file, "FROM scratch\nADD base.tar /\nUSER nonroot\n");
  const image = "localhost/base";
  await run(buildah, ["build", "--isolation", "chroot", "--file", file, "--tag", image, folder]);
  return image;
}

/** The settings of an image, as its containers get them. */
export async function inspectImage(buildah: string[], image: string) {
  const { Docker } = JSON.parse(await output(buildah, ["inspect", "--type", "image", image]));
  const { config } = Docker;
  return {
    user: config.User as string,
    environment: config.Env as string[],
    entrypoint: config.Entrypoint as string[],
    command: config.Cmd as string[],
    volumes: Object.keys(config.Volumes ?? {}),
    ports: Object.keys(config.ExposedPorts ?? {}),
    healthCheck: (config.Healthcheck?.Test ?? []) as string[],
  };
}
