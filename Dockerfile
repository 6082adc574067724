FROM node:20-slim
WORKDIR /app
COPY . .
RUN node -e "process.stdout.write(require('./package.json').devEngines.packageManager.version)" > /tmp/pnpm-version \
  && npx -y "pnpm@$(cat /tmp/pnpm-version)" install --frozen-lockfile \
  && npx -y "pnpm@$(cat /tmp/pnpm-version)" run build
USER node
CMD ["node", "examples/demo/src/main.js"]
