/** The documented proxy, in front of several processes. */
import type { Contestant } from "./processes.ts";
import { freePort } from "../../../tests/e2e/postgres.ts";
import { pause } from "../../../lib/base/delay.ts";

const PROGRAM = "/usr/sbin/nginx";

/** Starts it over plain HTTP with the upstream of the guide; `null` where it is not installed. */
export async function startNginx(urls: string[]): Promise<Contestant | null> {
  try {
    await Deno.stat(PROGRAM);
  } catch {
    return null;
  }
  const folder = await Deno.makeTempDir();
  const port = freePort();
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/${name};`).join("\n");
  await Deno.writeTextFile(
    `${folder}/nginx.conf`,
    `daemon off; worker_processes 1; pid ${folder}/pid; error_log stderr; events {}
http {
  access_log off; ${paths}
  upstream test_analytics {
    ${urls.map((url) => `server ${new URL(url).host};`).join("\n    ")}
    keepalive 32;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://test_analytics;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
    }
  }
}
`,
  );
  const child = new Deno.Command(PROGRAM, {
    args: ["-p", folder, "-e", "stderr", "-c", `${folder}/nginx.conf`],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0;; tries++) {
    try {
      await (await fetch(`${url}/health`)).body?.cancel();
      break;
    } catch (error) {
      if (tries > 50) throw error;
      await pause(100);
    }
  }
  return {
    url,
    pid: child.pid,
    async stop() {
      child.kill("SIGTERM");
      await child.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
}
