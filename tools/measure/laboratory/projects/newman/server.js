require("node:http").createServer((_, response) => response.end("{}")).listen(8123, "127.0.0.1");
