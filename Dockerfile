# syntax=docker/dockerfile:1

# What is installed, apart from what is run: npm and its cache do not come along.
FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
# What STORAGE_URL=postgres://… needs; SQLite is part of this Node.js.
RUN npm install --no-save --omit=dev --ignore-scripts --no-audit --no-fund pg connect-pg-simple

FROM node:24-slim
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=3000 \
    HEALTH=on \
    DATA_DIR=/data
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json tsconfig.json ./
COPY app ./app
COPY bin ./bin
COPY plugins ./plugins
COPY routes ./routes
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Without npm between: the signals come to the process that closes in order.
CMD ["node", "--enable-source-maps", "--import=tsx", "app/server.ts"]
