import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

/** Where `npm run dev` forwards requests to the API. */
const server = process.env.AMBIT_SERVER ?? "http://127.0.0.1:8080";

export default defineConfig({
  base: "./",
  plugins: [svelte()],
  build: {
    outDir: "../crates/ambit/console",
    emptyOutDir: true,
    target: "es2022",
    // Inlined files would be `data:` URLs, and the polyfill an inline script: the policy of the page refuses both.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        entryFileNames: "assets/[name]-[hash].js",
        chunkFileNames: "assets/[name]-[hash].js",
        assetFileNames: "assets/[name]-[hash].[ext]",
      },
    },
  },
  server: { proxy: { "/v1": server } },
  test: { include: ["unit/**/*.test.ts"] },
});
