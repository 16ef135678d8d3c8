import react from "@vitejs/plugin-react";
import { defineConfig, loadEnv } from "vite";

export default defineConfig(({ mode }) => {
  const { AMBIT_URL = "http://127.0.0.1:8080" } = loadEnv(mode, ".", "AMBIT_");
  // The browser talks to the page's own address alone, so that nothing needs CORS.
  return { plugins: [react()], server: { proxy: { "/v1": AMBIT_URL } } };
});
