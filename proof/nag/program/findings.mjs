// Prints the findings of two packs of cdk-nag in a CloudFormation template.
import { App, Stack } from 'aws-cdk-lib';
import { CfnInclude } from 'aws-cdk-lib/cloudformation-include';
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag';

const app = new App({ analyticsReporting: false });
const stack = new Stack(app, 'S');
new CfnInclude(stack, 'Template', { templateFile: process.argv[2] });
for (const pack of [new AwsSolutionsChecks(app), new ServerlessChecks(app)]) {
  for (const { ruleName, violatingResources } of pack.validateScope(app).violations) {
    for (const { constructPath } of violatingResources) {
      console.log(`${ruleName.replace(/\[.*/, '')}\t${constructPath.replace('S/Template/', '')}`);
    }
  }
}
